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
#include <optional>
#include <span>
#include <vector>

#include "analyzer/replay/job.h"
#include "analyzer/replay/own_times.h"

namespace ringside::replay {

/// Not thread-safe. `job` and `times` must outlive it.
class Replay {
 public:
  Replay(const Job& job, const OwnTimes& times);

  /// False if the order in which ranks ran their kernels contradicts itself: there is no replay.
  bool is_possible() const { return order_.size() == job_.kernels.size(); }

  /// The time of the job with these own times, by kernel, and transfer times, by transfer.
  std::int64_t run(std::span<const std::int64_t> own_ns, std::span<const std::int64_t> transfer_ns);

  /// When each kernel ended in the last run, by kernel.
  const std::vector<std::int64_t>& ends_ns() const { return ends_ns_; }
  /// Likewise when it started, and when its rank was ready for it.
  const std::vector<std::int64_t>& starts_ns() const { return starts_ns_; }
  const std::vector<std::int64_t>& ready_ns() const { return ready_ns_; }

 private:
  void find_order();
  void clear();
  bool is_known(std::uint32_t kernel) const { return kernel == kNone || pending_[kernel] == 0; }
  template <typename Own, typename Time, typename Ended>
  void start(std::uint32_t kernel, const Own& own, const Time& time, const Ended& ended);

  const Job& job_;
  const OwnTimes& times_;
  std::vector<std::uint32_t> order_;  // in which kernels start
  std::vector<std::int64_t> ready_ns_;
  std::vector<std::int64_t> starts_ns_;
  std::vector<std::int64_t> ends_ns_;
  std::vector<std::uint32_t> pending_;  // by kernel: transfers that have not ended
  std::vector<std::uint32_t> missing_;  // by transfer: kernels that have not started
};

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_REPLAY_H
