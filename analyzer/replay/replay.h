// SPDX-License-Identifier: Apache-2.0
//
// Runs a job once more from its own and transfer times: as it was, or with others in their place.
//
//   ready'(k) = anchor'(k) + own(k)
//   start'(k) = max(ready'(k), end'(kernel before on the stream))
//   end'(k)   = max over the transfers t of k: (last start' that k needs in t) + time(t)
#ifndef RINGSIDE_ANALYZER_REPLAY_REPLAY_H
#define RINGSIDE_ANALYZER_REPLAY_REPLAY_H

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/replay/job.h"
#include "analyzer/replay/own_times.h"

namespace ringside::replay {

/// Kernels have places in the order in which they are replayed. Those of a transfer are near each
/// other there, and far from each other in the job, where each rank's are together: so all that a
/// replay reads is in this order. Not thread-safe. `job` and `times` must outlive it.
class Replay {
 public:
  Replay(const Job& job, const OwnTimes& times);

  /// False if the order in which ranks ran their kernels contradicts itself: there is no replay.
  bool is_possible() const { return steps_.size() == job_.kernels.size(); }

  std::uint32_t place_of(std::uint32_t kernel) const { return place_of_[kernel]; }

  /// The time of the job with these own times, by place, and transfer times, by transfer.
  std::int64_t run(std::span<const std::int64_t> own_ns, std::span<const std::int64_t> transfer_ns);

  /// When each kernel ended in the last run, by place.
  const std::vector<std::int64_t>& ends_ns() const { return ends_ns_; }
  /// When a kernel ended in the last run, when it started, and when its rank was ready for it.
  std::int64_t end_ns(std::uint32_t kernel) const { return ends_ns_[place_of_[kernel]]; }
  std::int64_t start_ns(std::uint32_t kernel) const { return starts_ns_[place_of_[kernel]]; }
  std::int64_t ready_ns(std::uint32_t kernel) const { return ready_ns_[place_of_[kernel]]; }

 private:
  // One kernel. `anchor` and `before` (on its stream) are places, or kNone.
  struct Step {
    std::uint32_t anchor = kNone;
    std::uint32_t before = kNone;
    std::uint32_t transfers_end = 0;  // those until here have all of their kernels then
    bool is_anchor_end = true;
    bool is_alone = false;  // in no transfer
  };

  void make_steps();
  void end_transfer(std::uint32_t transfer, std::int64_t time_ns);

  const Job& job_;
  const OwnTimes& times_;
  std::vector<std::uint32_t> place_of_;   // by kernel
  std::vector<std::uint32_t> transfers_;  // in the order in which all of their kernels have started
  std::vector<Step> steps_;               // this and those below by place
  std::vector<std::int64_t> alone_ns_;    // how long those in no transfer run, one after the other
  std::vector<std::uint32_t> members_;    // as Job::members, but places
  std::vector<std::int64_t> ready_ns_;
  std::vector<std::int64_t> starts_ns_;
  std::vector<std::int64_t> ends_ns_;
};

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_REPLAY_H
