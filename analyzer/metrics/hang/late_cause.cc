// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/late_cause.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;

std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<RankTimes>& rows) {
  const facts::OperationFacts known = facts.ranks_of(operation, rows);
  const auto own = std::find_if(rows.begin(), rows.end(),
                                [&](const RankTimes& row) { return row.member == member; });
  if (own == rows.end() || known.is_impossible) {
    return std::nullopt;
  }
  auto last = own;
  if (own->best_wait_ns > 0) {
    const std::int64_t until_ns = add_saturating(own->arrival_ns, own->best_wait_ns);
    last = std::upper_bound(
               own, rows.end(), until_ns,
               [](std::int64_t time, const RankTimes& row) { return time < row.arrival_ns; }) -
           1;
  }
  std::optional<std::int64_t> margin_ns;
  for (const RankTimes& row : rows) {
    if (row.waits_for == static_cast<std::uint32_t>(last - rows.begin())) {
      margin_ns = std::min(margin_ns.value_or(row.best_wait_ns), row.best_wait_ns);
    }
  }
  if (last == own && !margin_ns) {
    return std::nullopt;
  }
  // A rank whose arrival was not seen may have come right before the last one, or after it.
  const bool all_are_seen = std::all_of(rows.begin(), rows.end(), [](const RankTimes& row) {
    return row.has_execution && row.open_ns == 0;
  });
  return LateCause{last->member, last->part, last->arrival_ns,
                   all_are_seen ? margin_ns : std::nullopt};
}

}  // namespace ringside::metrics
