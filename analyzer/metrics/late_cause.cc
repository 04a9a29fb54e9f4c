// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/late_cause.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// The row whose arrival ended the waiting of another; that one itself, if it did not wait. Rows
// are by arrival.
std::uint32_t last_for(const std::vector<facts::RankTimes>& rows, std::uint32_t own, LateBy by) {
  const facts::RankTimes& waiting = rows[own];
  if (by == LateBy::kSure && waiting.waits_for != facts::RankTimes::kNobody) {
    return waiting.waits_for;
  }
  const std::int64_t until_ns = add_saturating(waiting.arrival_ns, waiting.best_wait_ns);
  std::uint32_t last = own;
  for (std::uint32_t i = own; waiting.best_wait_ns > 0 && i < rows.size(); ++i) {
    last = rows[i].arrival_ns <= until_ns ? i : last;
  }
  return last;
}

}  // namespace

std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<facts::RankTimes>& rows,
                                    LateBy by) {
  if (facts.ranks_of(operation, rows).is_impossible) {
    return std::nullopt;
  }
  const auto own = std::find_if(rows.begin(), rows.end(),
                                [&](const facts::RankTimes& row) { return row.member == member; });
  if (own == rows.end()) {
    return std::nullopt;
  }
  const auto last = last_for(rows, static_cast<std::uint32_t>(own - rows.begin()), by);
  std::optional<std::int64_t> margin_ns;
  bool is_waited_for = last != own - rows.begin();
  // A rank whose arrival was not seen may have come right before the last one, or after it.
  const bool all_are_seen = std::all_of(rows.begin(), rows.end(), [](const facts::RankTimes& row) {
    return row.has_execution && row.open_ns == 0;
  });
  for (const facts::RankTimes& row : rows) {
    if (row.waits_for == last) {
      is_waited_for = true;
      if (all_are_seen) {
        margin_ns = std::min(margin_ns.value_or(row.best_wait_ns), row.best_wait_ns);
      }
    }
  }
  if (!is_waited_for) {
    return std::nullopt;
  }
  return LateCause{rows[last].member, rows[last].part, rows[last].arrival_ns, margin_ns};
}

}  // namespace ringside::metrics
