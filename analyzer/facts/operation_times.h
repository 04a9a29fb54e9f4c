// SPDX-License-Identifier: Apache-2.0
//
// Finds from the stamps of one operation how long its data took, and which rank waited for which.
// docs/metrics.md derives the bounds.
#ifndef RINGSIDE_ANALYZER_FACTS_OPERATION_TIMES_H
#define RINGSIDE_ANALYZER_FACTS_OPERATION_TIMES_H

#include <algorithm>
#include <optional>
#include <span>

#include "analyzer/facts/flow.h"
#include "analyzer/facts/interval.h"
#include "analyzer/facts/latest.h"
#include "analyzer/facts/rank_times.h"

namespace ringside::facts {

/// A rank that seems to end so long before another that it needs has started, beyond what is
/// uncertain, has the stamps of another operation: NCCL keeps those of the last 64 only.
inline constexpr std::int64_t kImpossible_ns = 100'000;

/// The arrivals that bound when data could flow to some ranks: of those that are surely needed as
/// early as they may have been, and of all that may hold them up as late as they may have been.
struct Arrivals {
  Latest needed{Latest::Bound::kLeast};
  Latest possible{Latest::Bound::kMost};
  bool has_unknown = false;                // somebody may have come at any time
  std::int64_t shown_ns = Latest::kNever;  // the last arrival that is needed, by its stamp

  void need(std::span<const RankTimes> rows, std::uint32_t row) {
    needed.add(rows, row);
    shown_ns = std::max(shown_ns, rows[row].arrival_ns);
    may_need(rows, row);
  }
  // A rank that is known by its call only may have come at any time after it.
  void may_need(std::span<const RankTimes> rows, std::uint32_t row) {
    possible.add(rows, row);
    has_unknown = has_unknown || !rows[row].has_execution;
  }
  void clear() {
    needed.clear();
    possible.clear();
    has_unknown = false;
    shown_ns = Latest::kNever;
  }
};

struct OperationTimes {
  std::optional<Interval> busy;  // nothing if no rank was seen to run it
  /// Within busy: what it would be if all clocks and stamps were exact.
  std::int64_t best_busy_ns = 0;
  bool is_impossible = false;
};

/// Finds the time that the data took, and fills in what each of the rows waited. `has_all_ranks`:
/// every rank that takes part is among the rows. `arrivals`, whose memory is used again, has those
/// of all rows afterwards if every rank needs every other.
OperationTimes find_times(const FlowOfOperation& flow, bool has_all_ranks,
                          std::span<RankTimes> rows, Arrivals& arrivals);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_OPERATION_TIMES_H
