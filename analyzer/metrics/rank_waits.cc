// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rank_waits.h"

#include <algorithm>

#include "analyzer/facts/groups.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;

RankWaits::RankWaits(const facts::Facts& facts, const GlobalRanks& who)
    : matches_(facts.matches()),
      who_(who),
      places_(matches_.operations.size()),
      is_in_other_(matches_.operations.size()),
      of_thread_(core_count()) {
  for (const auto& group : facts::find_groups(facts.traces(), matches_)) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      is_in_other_[group[i]] = true;
    }
  }
}

void RankWaits::add(std::size_t thread, const facts::SeenOperation& seen) {
  const facts::OperationFacts& known = seen.facts;
  if (known.is_impossible || !known.has_all_ranks || known.ranks_timed < 2) {
    return;
  }
  OfThread& own = of_thread_[thread];
  const std::size_t first = own.waits.size();
  const std::uint32_t communicator = matches_.operations[seen.index].communicator;
  own.place_of_row.assign(seen.rows.size(), kUnknown);
  for (const RankTimes& row : seen.rows) {
    if (row.waits_for == RankTimes::kNobody || is_in_other_[seen.index]) {
      continue;
    }
    std::uint32_t& place = own.place_of_row[row.waits_for];
    if (place == kUnknown) {
      place = static_cast<std::uint32_t>(own.waits.size() - first);
      const std::uint32_t rank = who_.of(communicator, seen.rows[row.waits_for].member);
      own.waits.push_back({rank, 0, row.best_wait_ns});
    }
    ChargedWait& wait = own.waits[first + place];
    wait.waited_ns = add_saturating(wait.waited_ns, row.best_wait_ns);
    wait.margin_ns = std::min(wait.margin_ns, row.best_wait_ns);
  }
  places_[seen.index] = {static_cast<std::uint32_t>(thread),
                         static_cast<std::uint32_t>(own.waits.size() - first), first};
}

std::optional<std::span<const ChargedWait>> RankWaits::of(std::uint32_t operation) const {
  const Place& place = places_[operation];
  if (place.count == kUnknown) {
    return std::nullopt;
  }
  return std::span(of_thread_[place.thread].waits).subspan(place.first, place.count);
}

}  // namespace ringside::metrics
