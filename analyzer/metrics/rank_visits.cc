// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rank_visits.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;

void join_origins(std::vector<Origin>& origins) {
  std::sort(origins.begin(), origins.end(),
            [](const Origin& a, const Origin& b) { return a.rank < b.rank; });
  std::size_t count = 0;
  for (const Origin& origin : origins) {
    if (origin.waited_ns <= 0) {
      continue;
    }
    if (count > 0 && origins[count - 1].rank == origin.rank) {
      origins[count - 1].waited_ns = add_saturating(origins[count - 1].waited_ns, origin.waited_ns);
    } else {
      origins[count++] = origin;
    }
  }
  origins.resize(count);
}

std::int64_t Visit::waited_for(std::uint32_t rank) const {
  const auto found = std::find_if(waited.begin(), waited.end(),
                                  [&](const Origin& origin) { return origin.rank == rank; });
  return found == waited.end() ? 0 : std::min(found->waited_ns, waited_ns);
}

std::int64_t Visit::may_have_waited_for(std::uint32_t rank) const {
  std::int64_t open_ns = waited_ns;
  for (const Origin& origin : waited) {
    open_ns -= std::min(open_ns, origin.rank == rank ? 0 : origin.waited_ns);
  }
  std::int64_t possible_ns = 0;
  for (const Origin& origin : *possible) {
    const bool counts = origin.rank == rank || origin.rank == Origin::kAnyone;
    possible_ns = add_saturating(possible_ns, counts ? origin.waited_ns : 0);
  }
  return std::max(std::min(possible_ns, open_ns), waited_for(rank));
}

std::int64_t Visit::longer_ns(const Visit& other) const {
  return own_end_ns && other.own_end_ns ? subtract_saturating(*own_end_ns, *other.own_end_ns)
                                        : subtract_saturating(end_ns, other.end_ns);
}

RankVisits::RankVisits(const facts::Facts& facts, const GlobalRanks& who)
    : facts_(facts),
      who_(who),
      visits_(who.all().size()),
      is_cut_(who.all().size()),
      waited_most_ns_(who.all().size()),
      met_(who.all().size()) {
  const match::Matches& matches = facts.matches();
  std::size_t communicators = 0;
  for (std::uint32_t i = 0; i < matches.communicators.size(); ++i) {
    auto& ranks = ranks_.emplace_back();
    for (std::uint32_t member = 0; member < matches.communicators[i].members.size(); ++member) {
      ranks.push_back(who.of(i, member));
    }
    std::sort(ranks.begin(), ranks.end());
    communicators += ranks.size() > 1 ? 1 : 0;
  }
  is_several_ = communicators > 1;
}

std::uint32_t RankVisits::rank_of(std::size_t operation, const RankTimes& row) const {
  return who_.of(facts_.matches().operations[operation].communicator, row.member);
}

bool RankVisits::takes_part(const Visit& visit, std::uint32_t rank) const {
  if (visit.pair.empty()) {
    const auto& ranks = ranks_[visit.communicator];
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  }
  return std::find(visit.pair.begin(), visit.pair.end(), rank) != visit.pair.end();
}

std::int64_t RankVisits::most_lead_ns(std::uint32_t rank, const Visit& visit, std::uint32_t other,
                                      const Visit& of_other) const {
  const auto clocks_ns =
      facts_.alignment().most_uncertainty_ns(who_.all()[rank].file, who_.all()[other].file);
  if (!clocks_ns) {
    return kNoLimit_ns;
  }
  const std::int64_t error_ns =
      add_saturating(*clocks_ns, add_saturating(visit.late_ns, of_other.late_ns));
  return add_saturating(subtract_saturating(visit.end_ns, of_other.end_ns), error_ns);
}

std::int64_t RankVisits::waited_elsewhere_ns(std::uint32_t rank, std::uint32_t other,
                                             const Visit* met) const {
  std::int64_t sum_ns = 0;
  bool is_since = true;
  bool has_streams = met == nullptr;
  for (const Visit& visit : visits_[rank]) {
    is_since = is_since && &visit != met;
    const bool is_of_met =
        met != nullptr && visit.thread == met->thread && visit.stream == met->stream;
    has_streams = has_streams || !is_of_met;
    if (!takes_part(visit, other)) {
      sum_ns = add_saturating(sum_ns, is_since || !is_of_met ? visit.most_ns : 0);
    } else if (visit.holds_up_all) {
      return sum_ns;
    }
  }
  return is_cut_[rank] && has_streams ? kNoLimit_ns : sum_ns;
}

const Visit* RankVisits::find(std::uint32_t rank, std::uint64_t operation) const {
  const auto& visits = visits_[rank];
  const auto found = std::find_if(visits.begin(), visits.end(),
                                  [&](const Visit& one) { return one.operation == operation; });
  return found == visits.end() ? nullptr : &*found;
}

std::int64_t RankVisits::forgotten_most_ns(std::uint32_t rank, std::uint32_t other) const {
  const std::deque<Visit>& visits = visits_[rank];
  std::int64_t remembered_ns = 0;
  for (const Visit& visit : visits) {
    remembered_ns = add_saturating(remembered_ns, visit.most_ns);
  }
  std::int64_t most_ns = kNoLimit_ns;
  for (const Met& met : met_[rank]) {
    const auto& ranks = ranks_[met.communicator];
    if (met.operation < visits.back().operation &&
        std::binary_search(ranks.begin(), ranks.end(), other)) {
      const std::int64_t since_ns = subtract_saturating(waited_most_ns_[rank], met.waited_most_ns);
      most_ns = std::min(most_ns, subtract_saturating(since_ns, remembered_ns));
    }
  }
  return most_ns;
}

std::int64_t RankVisits::delayed_since_ns(const Visit& visit, std::uint32_t visitor,
                                          std::uint32_t rank) const {
  const auto& visits = visits_[visitor];
  auto older =
      std::find_if(visits.begin(), visits.end(), [&](const Visit& one) { return &one == &visit; });
  while (++older != visits.end() && !(older->holds_up_all && takes_part(*older, rank))) {
    const bool is_of_visit = older->communicator == visit.communicator &&
                             older->thread == visit.thread && older->stream == visit.stream;
    if (!is_of_visit || older->holds_up_all || !takes_part(*older, rank)) {
      continue;
    }
    if (const Visit* const met = find(rank, older->operation)) {
      const std::int64_t behind_ns = most_lead_ns(rank, *met, visitor, *older);
      return add_saturating(std::max<std::int64_t>(behind_ns, 0),
                            waited_elsewhere_ns(rank, visitor, met));
    }
  }
  return kNoLimit_ns;
}

// Whether whoever took part in one visit did in the other, and was held up by each.
bool RankVisits::are_one(const Visit& older, const Visit& newer) {
  return older.holds_up_all && newer.holds_up_all && older.communicator == newer.communicator &&
         older.thread == newer.thread && older.stream == newer.stream;
}

// The delays of both visits add up, since one follows the other.
void RankVisits::join(Visit& older, Visit& newer) {
  newer.waited_ns = add_saturating(newer.waited_ns, older.waited_ns);
  newer.most_ns = add_saturating(newer.most_ns, older.most_ns);
  newer.held_up_ns = std::min(newer.held_up_ns, older.held_up_ns);
  newer.waited.insert(newer.waited.end(), older.waited.begin(), older.waited.end());
  join_origins(newer.waited);
  // All ranks of the operations share theirs.
  if (older.possible != joined_.older || newer.possible != joined_.newer) {
    auto possible = std::make_shared<std::vector<Origin>>(*newer.possible);
    possible->insert(possible->end(), older.possible->begin(), older.possible->end());
    join_origins(*possible);
    joined_ = {older.possible, newer.possible, std::move(possible)};
  }
  newer.possible = joined_.both;
  older = std::move(newer);
}

bool RankVisits::begin(bool holds_up_all) {
  ++operations_;
  if (!holds_up_all || is_several_) {
    return false;
  }
  for (std::deque<Visit>& of_rank : visits_) {
    of_rank.clear();
  }
  is_cut_.assign(is_cut_.size(), false);
  return true;
}

std::vector<std::uint32_t> RankVisits::pair_of(std::size_t operation) const {
  const match::MatchedOperation& matched = facts_.matches().operations[operation];
  std::vector<std::uint32_t> pair;
  if (matched.way == match::Way::kPair) {
    for (const match::Part& part : match::parts_of(facts_.matches(), matched)) {
      pair.push_back(who_.of(matched.communicator, part.member));
    }
  }
  return pair;
}

void RankVisits::add(std::size_t operation, const RankTimes& row, Visit visit) {
  const std::uint32_t rank = rank_of(operation, row);
  const match::Matches& matches = facts_.matches();
  const model::Operation own = match::operation_of(facts_.traces(), matches.parts[row.part]);
  visit.operation = operations_;
  visit.communicator = matches.operations[operation].communicator;
  visit.end_ns = row.end_ns;
  visit.own_end_ns = row.has_execution ? own.end_ns : std::nullopt;
  visit.late_ns = row.error.late_ns;
  visit.thread = own.tid;
  visit.stream = own.stream;
  visit.group = own.group;
  waited_most_ns_[rank] = add_saturating(waited_most_ns_[rank], visit.most_ns);
  note_met(rank, visit);
  auto& visits = visits_[rank];
  if (visits.size() > 1 && are_one(visits[1], visits[0])) {
    join(visits[1], visits[0]);
    visits.pop_front();
  }
  if (visits.size() == kVisits) {
    visits.pop_back();
    is_cut_[rank] = true;
  }
  // One kernel runs the operations of a group that end one by one.
  auto place = visits.begin();
  while (place != visits.end() && !visit.holds_up_all && visit.group &&
         place->group == visit.group && place->communicator == visit.communicator &&
         place->longer_ns(visit) > 0) {
    ++place;
  }
  visits.insert(place, std::move(visit));
}

void RankVisits::note_met(std::uint32_t rank, const Visit& visit) {
  if (!visit.holds_up_all) {
    return;
  }
  std::vector<Met>& met = met_[rank];
  const auto found = std::find_if(met.begin(), met.end(), [&](const Met& one) {
    return one.communicator == visit.communicator;
  });
  Met& here = found == met.end() ? met.emplace_back() : *found;
  here = {visit.communicator, visit.operation, waited_most_ns_[rank]};
}

}  // namespace ringside::metrics
