// SPDX-License-Identifier: Apache-2.0
//
// Bounds of each host's offset over time, from the points that hosts have in common.
#ifndef RINGSIDE_ANALYZER_ALIGN_BOUNDS_H
#define RINGSIDE_ANALYZER_ALIGN_BOUNDS_H

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/align/clock_prior.h"
#include "analyzer/align/host_path.h"
#include "analyzer/align/points/sync_points.h"

namespace ringside::align {

struct Assumption {
  double most_rate = 0;  // mean rate of a host against the reference, ns per ns, either way
  double wander = 0;     // how far its rate is from that mean
};

struct Solution {
  std::vector<HostPath> hosts;  // the reference has none
  /// By host: how many of its bounds each kind of points set.
  std::vector<std::array<std::uint32_t, kPointKinds>> set_by;
  bool is_contradictory = false;  // no offsets and rates fulfil all bounds
};

/// Passes bounds from host to host through the points they share, and along each host's time, until
/// nothing changes. Each step keeps all that is possible, so to stop early leaves bounds wide, and
/// never wrong. Time: passes x touches x pieces of the rates (host_path.h), a few each. `priors`,
/// by host, bound offsets as well; empty: there are none.
Solution propagate(const SyncPoints& points, std::size_t hosts, std::uint32_t reference,
                   const Assumption& assumption, const std::vector<ClockPrior>& priors = {});

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_BOUNDS_H
