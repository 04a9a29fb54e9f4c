// SPDX-License-Identifier: Apache-2.0
//
// The graph of a process without what no path needs: a profile of a gigabyte has some million
// nodes, of which a path over 64 ranks takes those of one rank at a time.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_PARTS_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_PARTS_H

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/metrics/steps/rank_graph.h"

namespace ringside::metrics {

/// Chains of a graph that paths take: each begins behind this node of the whole graph, and goes
/// back to what began by that moment, or to the next operation.
using Chains = std::unordered_map<std::uint32_t, std::int64_t>;

/// Returns a graph on which paths go from operation to operation and from rank to rank as on the
/// whole one: its nodes are the operations of NCCL and the ends of steps, and between two of these
/// one node stands for all others. It does not grow with what the CPU and other kernels did.
RankGraph condensed(const RankGraph& whole);

/// Returns which nodes are operations, ends of steps, or in these chains.
std::vector<bool> nodes_of(const RankGraph& whole, const Chains& chains);

/// Returns a graph of these nodes, among which all operations and ends of steps must be.
RankGraph part_of(const RankGraph& whole, const std::vector<bool>& is_in);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_PARTS_H
