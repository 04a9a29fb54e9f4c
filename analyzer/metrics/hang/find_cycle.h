// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_FIND_CYCLE_H
#define RINGSIDE_ANALYZER_METRICS_HANG_FIND_CYCLE_H

#include <cstdint>
#include <vector>

namespace ringside::metrics {

/// Indexes of one ring in a graph whose edges go from i to all of next[i], in the order of the
/// edges; empty if there is none. Targets are indexes into `next`. Time is linear in the edges.
std::vector<std::uint32_t> find_cycle(const std::vector<std::vector<std::uint32_t>>& next);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_FIND_CYCLE_H
