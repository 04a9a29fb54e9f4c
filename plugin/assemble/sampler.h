// SPDX-License-Identifier: Apache-2.0
//
// Chooses the operations that the trace has, as the sampling demands, and counts the sends and
// receives of each lane (a peer and a direction) for it. Used by one thread.
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

  /// Whether sends and receives are recorded from now on. Those of a communicator that was opened
  /// before are not counted from its creation on.
  void record_p2p(bool is_recorded) { records_p2p_ = is_recorded; }
  /// Says in the communicator what cannot be sampled, since its ranks would not choose the same.
  void open(Communicator& communicator);
  /// From this time on sends and receives are not counted as their peers count them, so all are
  /// kept, but for those of communicators that are opened after the next record_p2p(true). Returns
  /// the communicators whose lanes were counted until then.
  std::vector<std::uint32_t> stop_counting(std::int64_t ts_ns);

  /// Whether an operation is kept, which began at this time. Notes in it how it was chosen.
  bool chooses(const Communicator& communicator, std::int64_t ts_ns, Operation& operation);

 private:
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

  /// The sends and receives of a communicator.
  struct Lanes {
    std::int64_t until_ns = 0;  ///< when they were last counted as their peers count them
    std::map<std::pair<std::int32_t, bool>, std::uint64_t> next;  ///< by peer and direction
  };

  Sampling sampling_;
  std::int64_t base_ns_ = 0;
  bool records_p2p_ = false;
  std::unordered_map<std::uint32_t, Lanes> lanes_;  // by context
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SAMPLER_H
