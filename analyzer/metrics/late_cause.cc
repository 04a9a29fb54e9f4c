// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/late_cause.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

// The row whose arrival ended the waiting of another; that one itself, if it did not wait. Rows
// are by arrival.
std::uint32_t last_for(std::span<const RankTimes> rows, std::uint32_t own, LateBy by) {
  const RankTimes& waiting = rows[own];
  if (by == LateBy::kSure && waiting.waits_for != RankTimes::kNobody) {
    return waiting.waits_for;
  }
  if (waiting.best_wait_ns <= 0) {
    return own;
  }
  const std::int64_t until_ns = add_saturating(waiting.arrival_ns, waiting.best_wait_ns);
  const auto after = std::upper_bound(
      rows.begin() + own, rows.end(), until_ns,
      [](std::int64_t time, const RankTimes& row) { return time < row.arrival_ns; });
  return static_cast<std::uint32_t>(after - rows.begin()) - 1;
}

}  // namespace

void LateCauses::read(const facts::OperationFacts& known, std::span<const RankTimes> rows) {
  rows_ = rows;
  is_impossible_ = known.is_impossible;
  // A rank whose arrival was not seen may have come right before the last one, or after it.
  all_are_seen_ = std::all_of(rows.begin(), rows.end(), [](const RankTimes& row) {
    return row.has_execution && row.open_ns == 0;
  });
  least_wait_ns_.assign(rows.size(), std::nullopt);
  for (const RankTimes& row : rows) {
    if (row.waits_for != RankTimes::kNobody) {
      auto& least_ns = least_wait_ns_[row.waits_for];
      least_ns = std::min(least_ns.value_or(row.best_wait_ns), row.best_wait_ns);
    }
  }
}

std::uint32_t LateCauses::row_for(std::uint32_t row) const {
  if (is_impossible_) {
    return RankTimes::kNobody;
  }
  const std::uint32_t last = last_for(rows_, row, by_);
  return last != row || least_wait_ns_[last] ? last : RankTimes::kNobody;
}

LateCause LateCauses::cause(std::uint32_t last) const {
  return {rows_[last].member, rows_[last].part, rows_[last].arrival_ns,
          all_are_seen_ ? least_wait_ns_[last] : std::nullopt};
}

std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<RankTimes>& rows, LateBy by) {
  LateCauses causes(by);
  const facts::OperationFacts known = facts.ranks_of(operation, rows);
  causes.read(known, rows);
  const auto own = std::find_if(rows.begin(), rows.end(),
                                [&](const RankTimes& row) { return row.member == member; });
  if (own == rows.end()) {
    return std::nullopt;
  }
  const std::uint32_t last = causes.row_for(static_cast<std::uint32_t>(own - rows.begin()));
  return last == RankTimes::kNobody ? std::nullopt : std::optional(causes.cause(last));
}

}  // namespace ringside::metrics
