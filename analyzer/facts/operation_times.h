// SPDX-License-Identifier: Apache-2.0
//
// Finds from the stamps of one operation how long its data took, and which rank waited for which.
// docs/metrics.md derives the bounds.
#ifndef RINGSIDE_ANALYZER_FACTS_OPERATION_TIMES_H
#define RINGSIDE_ANALYZER_FACTS_OPERATION_TIMES_H

#include <optional>
#include <span>

#include "analyzer/facts/flow.h"
#include "analyzer/facts/interval.h"
#include "analyzer/facts/rank_times.h"

namespace ringside::facts {

/// A rank that seems to end so long before another that it needs has started, beyond what is
/// uncertain, has the stamps of another operation: NCCL keeps those of the last 64 only.
inline constexpr std::int64_t kImpossible_ns = 100'000;

struct OperationTimes {
  std::optional<Interval> busy;  // nothing if no rank was seen to run it
  /// Within busy: what it would be if all clocks and stamps were exact.
  std::int64_t best_busy_ns = 0;
  bool is_impossible = false;
};

/// Finds the time that the data took, and fills in what each of the rows waited. `has_all_ranks`:
/// every rank that takes part is among the rows, which are by arrival.
OperationTimes find_times(const FlowOfOperation& flow, bool has_all_ranks,
                          std::span<RankTimes> rows);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_OPERATION_TIMES_H
