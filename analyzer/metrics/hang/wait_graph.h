// SPDX-License-Identifier: Apache-2.0
//
// Questions to a graph of who waits for whom.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_WAIT_GRAPH_H
#define RINGSIDE_ANALYZER_METRICS_HANG_WAIT_GRAPH_H

#include <cstdint>
#include <vector>

namespace ringside::metrics {

/// Node i waits for each of next[i], which are indexes into the same vector. All that is asked of a
/// graph takes time that is linear in its edges.
using WaitGraph = std::vector<std::vector<std::uint32_t>>;

/// For each node, whether it is in a ring, or waits for one.
std::vector<bool> lead_to_ring(const WaitGraph& next);

/// The nodes of one ring, in the order of the edges; empty if there is none.
std::vector<std::uint32_t> find_cycle(const WaitGraph& next);

/// For each node, whether one of `starts` waits for it, or it is one of them.
std::vector<bool> reached_from(const WaitGraph& next, const std::vector<std::uint32_t>& starts);

/// The same graph with all edges turned round.
WaitGraph reversed(const WaitGraph& next);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_WAIT_GRAPH_H
