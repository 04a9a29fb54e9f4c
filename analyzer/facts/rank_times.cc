// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/rank_times.h"

#include <algorithm>

namespace ringside::facts {

std::int64_t clock_error_ns(const RankTimes& a, const RankTimes& b) {
  return a.host == b.host ? 0 : add_saturating(a.clock_ns, b.clock_ns);
}

std::optional<Interval> arrival_difference(const RankTimes& earlier, const RankTimes& later) {
  const std::int64_t clocks_ns = clock_error_ns(earlier, later);
  if (clocks_ns == kUnknownClock_ns) {
    return std::nullopt;
  }
  return Interval{
      subtract_saturating(subtract_saturating(later.earliest_ns(), earlier.latest_ns()), clocks_ns),
      add_saturating(subtract_saturating(later.latest_ns(), earlier.earliest_ns()), clocks_ns)};
}

std::optional<Interval> margin_of_last(std::span<const RankTimes> rows) {
  if (rows.size() < 2) {
    return std::nullopt;
  }
  Interval margin{kUnknownClock_ns, kUnknownClock_ns};
  for (const RankTimes& other : rows.first(rows.size() - 1)) {
    const auto difference = arrival_difference(other, rows.back());
    if (!difference) {
      return std::nullopt;
    }
    margin.least_ns = std::min(margin.least_ns, difference->least_ns);
    margin.most_ns = std::min(margin.most_ns, difference->most_ns);
  }
  return margin;
}

}  // namespace ringside::facts
