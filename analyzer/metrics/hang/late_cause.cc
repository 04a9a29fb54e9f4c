// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/late_cause.h"

#include <algorithm>

namespace ringside::metrics {

using facts::RankTimes;

std::uint32_t waited_for(const facts::Facts& facts, std::uint32_t operation,
                         const std::vector<RankTimes>& rows, std::uint32_t own) {
  const std::uint32_t last =
      facts::all_need_all(facts.traces(), facts.matches().operations[operation])
          ? static_cast<std::uint32_t>(rows.size()) - 1
          : rows[own].waits_for;
  const bool is_later = last != RankTimes::kNobody && rows[own].has_execution &&
                        rows[last].arrival_ns > rows[own].arrival_ns;
  return is_later ? last : own;
}

std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<RankTimes>& rows) {
  const facts::OperationFacts known = facts.ranks_of(operation, rows);
  std::uint32_t own = 0;
  while (own < rows.size() && rows[own].member != member) {
    ++own;
  }
  if (own == rows.size() || known.is_impossible) {
    return std::nullopt;
  }
  const std::uint32_t last = waited_for(facts, operation, rows, own);
  bool is_waited_for = last != own;
  for (std::uint32_t i = 0; i < rows.size() && !is_waited_for; ++i) {
    is_waited_for = i != own && waited_for(facts, operation, rows, i) == own;
  }
  if (!is_waited_for) {
    return std::nullopt;
  }
  // A rank whose arrival was not seen may have come right before the last one, or after it.
  const bool is_sure = std::all_of(rows.begin(), rows.end(), [](const RankTimes& row) {
    return row.has_execution && row.open_ns == 0;
  });
  return LateCause{rows[last].member, rows[last].part, rows[last].arrival_ns, is_sure};
}

}  // namespace ringside::metrics
