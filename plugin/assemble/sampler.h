// SPDX-License-Identifier: Apache-2.0
//
// Decides which operations sampling keeps. It counts the sends and receives of each lane for that;
// a lane is one direction between the rank and one peer. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SAMPLER_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SAMPLER_H

#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugin/assemble/rows.h"
#include "plugin/assemble/sampling.h"

namespace ringside::assemble {

class Sampler {
 public:
  /// `base_ns` is the start of the trace's time line since the epoch.
  void set(const Sampling& sampling, std::int64_t base_ns) {
    sampling_ = sampling;
    base_ns_ = base_ns;
  }
  bool is_on() const { return sampling_.is_on(); }

  /// Sets whether sends and receives are recorded from now on. They are sampled only in
  /// communicators that are opened while this is so, since peers count from the beginning.
  void record_p2p(bool is_recorded) { records_p2p_ = is_recorded; }
  /// Marks in the communicator what cannot be sampled, since its ranks would choose differently.
  void open(Communicator& communicator);
  /// From `ts_ns` on, sends and receives are not counted as their peers count them. So all are
  /// kept, except in communicators that are opened after the next record_p2p(true). Returns the
  /// contexts of the communicators whose lanes were counted until then.
  std::vector<std::uint32_t> stop_counting(std::int64_t ts_ns);

  /// Whether an operation that began at `ts_ns` is kept. Sets its `sample_of`, and a P2p's `seq`.
  bool chooses(const Communicator& communicator, std::int64_t ts_ns, Operation& operation);

 private:
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

  /// The counts of a communicator's sends and receives.
  struct Lanes {
    std::int64_t until_ns = 0;  ///< when the counts stopped agreeing with the peers' counts
    std::map<std::pair<std::int32_t, bool>, std::uint64_t> next;  ///< by peer and direction
  };

  Sampling sampling_;
  std::int64_t base_ns_ = 0;
  bool records_p2p_ = false;
  std::unordered_map<std::uint32_t, Lanes> lanes_;  // by context
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SAMPLER_H
