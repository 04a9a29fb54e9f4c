// SPDX-License-Identifier: Apache-2.0
//
// The graph of one rank: what it did, and what each piece of that depends on.
#ifndef RINGSIDE_ANALYZER_CHAKRA_RANK_GRAPH_H
#define RINGSIDE_ANALYZER_CHAKRA_RANK_GRAPH_H

#include <cstdint>
#include <vector>

#include "analyzer/chakra/rank_operations.h"
#include "analyzer/chakra/schedule.h"
#include "analyzer/facts/facts.h"

namespace ringside::chakra {

/// Whole microseconds of a moment; a duration is the difference of two, so that they add up.
constexpr std::int64_t micros(std::int64_t time_ns) {
  return time_ns / 1000;
}

/// The graph of a rank's operations: of one stream, or one communicator, one runs after the other,
/// in the order in which they were called. They are sorted by that.
Schedule graph_of(const facts::Facts& facts, std::vector<RankOperation>& operations);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_RANK_GRAPH_H
