// SPDX-License-Identifier: Apache-2.0
//
// The graph of one rank: what it did, and what each piece of that depends on.
#ifndef RINGSIDE_ANALYZER_CHAKRA_RANK_GRAPH_H
#define RINGSIDE_ANALYZER_CHAKRA_RANK_GRAPH_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/chakra/profile_graph.h"
#include "analyzer/chakra/rank_operations.h"
#include "analyzer/chakra/schedule.h"
#include "analyzer/facts/facts.h"

namespace ringside::chakra {

/// The graph of a rank's operations: of one stream, or one communicator, one runs after the other,
/// in the order in which they were called. With a profile it has the operators of the CPU that
/// called them, and the other work of the GPU. Sorts the operations by call.
struct RankGraph {
  Schedule schedule;
  /// By operation: its kernel, of KinetoTrace::activities.
  std::vector<std::optional<std::uint32_t>> kernels;
};
RankGraph graph_of(const facts::Facts& facts, std::vector<RankOperation>& operations,
                   const Profile* profile);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_RANK_GRAPH_H
