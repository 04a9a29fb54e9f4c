// SPDX-License-Identifier: Apache-2.0
//
// Unbroken repeats of one operation, as benchmarks make them: each call follows the one before at
// once. nccl-tests counts the time from the first call to the last end, by the number of calls.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_REPEATS_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_REPEATS_H

#include <cstdint>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// A stretch of calls that are alike, with nothing in between.
struct Repeats {
  std::uint32_t operation = 0;  // the first: index into Matches::operations
  std::uint64_t count = 0;
  /// From a rank's first call to its last end, by the number of calls: mean over the ranks, each by
  /// its own clock.
  std::int64_t turn_ns = 0;
};

/// Looks at the calls of the lowest rank of each communicator.
std::vector<Repeats> find_repeats(const facts::Facts& facts);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_REPEATS_H
