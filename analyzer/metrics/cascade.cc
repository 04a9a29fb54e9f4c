// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/cascade.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "analyzer/metrics/earlier_causes.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;

Cascade::Cascade(const facts::Facts& facts, const GlobalRanks& who)
    : visits_(facts, who), of_waiter_(who.all().size()), of_pair_(who.all().size()) {}

Division Cascade::divide(std::size_t operation, const std::vector<RankTimes>& rows,
                         const Charge& charge, std::vector<Origin>& origins) const {
  const RankTimes& late = rows[charge.charged];
  std::int64_t left_ns = charge.waited_ns;
  Division division{charge.waited_ns, 0};
  const std::uint32_t waiter = visits_.rank_of(operation, rows[charge.waiter]);
  EarlierCauses causes(visits_, operation, late, waiter);
  while (left_ns > 0) {
    const auto cause = causes.next();
    if (!cause) {
      break;
    }
    const Visit& visit = *cause->visit;
    const std::int64_t passed_ns = std::min(left_ns, cause->delay.least_ns);
    const auto of_others = static_cast<double>(visit.waited_ns - visit.waited_for(waiter));
    for (const Origin& origin : visit.waited) {
      if (passed_ns == 0 || origin.rank == waiter) {
        continue;
      }
      const double part = static_cast<double>(origin.waited_ns) / of_others;
      origins.push_back(
          {origin.rank, static_cast<std::int64_t>(static_cast<double>(passed_ns) * part)});
    }
    left_ns -= passed_ns;
    division.passed_ns += passed_ns;
    division.kept_ns -= std::min(division.kept_ns, cause->delay.most_ns);
  }
  const std::int64_t rest_ns = left_ns > 0 ? causes.rest_ns() : 0;
  division.kept_ns -= std::min(division.kept_ns, rest_ns);
  origins.push_back({visits_.rank_of(operation, late), division.kept_ns});
  join_origins(origins);
  return division;
}

template <typename Take>
void Cascade::OfRanks::take_all(Take take) {
  for (const std::uint32_t rank : ranks_) {
    take(rank, std::exchange(find(rank), -1));
  }
  ranks_.clear();
}

// Only one of those that may have come last did, so of several ways to the same origin the widest
// counts.
void Cascade::divide_pair(std::size_t operation, const std::vector<RankTimes>& rows,
                          const Charge& pair) {
  const std::uint32_t late = visits_.rank_of(operation, rows[pair.charged]);
  std::int64_t left_ns = pair.waited_ns;
  EarlierCauses causes(visits_, operation, rows[pair.charged],
                       visits_.rank_of(operation, rows[pair.waiter]));
  while (const auto cause = causes.next()) {
    left_ns -= std::min(left_ns, cause->delay.least_ns);
    for (const Origin& origin : *cause->visit->possible) {
      if (origin.rank != late) {
        of_pair_.add(origin.rank, std::min(cause->delay.most_ns, origin.waited_ns));
      }
    }
  }
  const std::int64_t rest_ns = causes.rest_ns();
  if (rest_ns > 0) {
    of_pair_.add(kAnyone, std::min(left_ns, rest_ns));
  }
  of_pair_.widen(late, left_ns);
  of_pair_.take_all([&](std::uint32_t rank, std::int64_t most_ns) {
    of_waiter_.widen(rank, std::min(most_ns, pair.waited_ns));
  });
}

// The pairs of the operation, where nobody has asked for them before.
const std::vector<Charge>& Cascade::pairs_of(const std::vector<RankTimes>& rows,
                                             const OperationCharges& charges) {
  if (!charges.are_pairs_left_out) {
    return charges.pairs;
  }
  pairs_.clear();
  add_pairs(rows, charges.possibly, pairs_);
  return pairs_;
}

const std::vector<Cascade::Possible>& Cascade::divide_possibly(std::size_t operation,
                                                               const std::vector<RankTimes>& rows,
                                                               const OperationCharges& charges) {
  // So many steps an operation may take; where the clocks leave so much open, it is anyone.
  constexpr std::size_t kMostSteps = std::size_t{1} << 18U;
  possible_.clear();
  pairs_.clear();
  std::size_t steps = 0;
  const std::uint32_t communicator = visits_.facts().matches().operations[operation].communicator;
  bool has_visits = visits_.has_communicators();
  for (const PossibleCharge& one : charges.all_possible()) {
    for (const Visit& visit : visits_.of(visits_.rank_of(operation, rows[one.charged]))) {
      steps += visit.possible->size() * rows.size();
      has_visits = true;
      if (visit.holds_up_all && visit.communicator == communicator) {
        break;  // all ranks left it together
      }
    }
  }
  if (!has_visits) {
    for (const PossibleCharge& one : charges.all_possible()) {
      possible_.push_back({kAnyone, {visits_.rank_of(operation, rows[one.charged]), one.most_ns}});
    }
    return possible_;
  }
  if (!(charges.has_pairs || charges.are_pairs_left_out) || steps > kMostSteps) {
    std::int64_t most_ns = 0;
    for (const facts::Interval& wait : charges.waits) {
      most_ns = add_saturating(most_ns, wait.most_ns);
    }
    possible_.push_back({kAnyone, {kAnyone, most_ns}});
    return possible_;
  }
  const std::vector<Charge>& pairs = pairs_of(rows, charges);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::uint32_t waiter = pairs[i].waiter;
    divide_pair(operation, rows, pairs[i]);
    if (i + 1 == pairs.size() || pairs[i + 1].waiter != waiter) {
      of_waiter_.sort();
      of_waiter_.take_all([&](std::uint32_t rank, std::int64_t most_ns) {
        possible_.push_back({waiter, {rank, most_ns}});
      });
    }
  }
  return possible_;
}

void Cascade::remember_open(std::size_t operation, const std::vector<RankTimes>& rows,
                            bool holds_up_all) {
  if (visits_.begin(holds_up_all)) {
    return;
  }
  std::int64_t most_ns = 0;
  for (const RankTimes& row : rows) {
    most_ns = std::max(most_ns, row.has_execution ? row.most_wall_ns() : 0);
  }
  const auto possible = std::make_shared<std::vector<Origin>>();
  if (most_ns > 0) {
    possible->push_back({kAnyone, most_ns});
  }
  const std::vector<std::uint32_t> pair = visits_.pair_of(operation);
  for (const RankTimes& row : rows) {
    if (!row.has_execution) {
      continue;
    }
    Visit visit;
    visit.holds_up_all = holds_up_all;
    visit.pair = pair;
    visit.most_ns = row.most_wall_ns();
    visit.held_up_ns = most_ns;
    visit.possible = possible;
    visits_.add(operation, row, std::move(visit));
  }
}

void Cascade::remember(std::size_t operation, const std::vector<RankTimes>& rows,
                       const OperationCharges& charges,
                       const std::vector<std::vector<Origin>>& origins) {
  if (visits_.begin(charges.holds_up_all)) {
    return;
  }
  std::map<std::uint32_t, std::int64_t> widest_ns;
  for (const Possible& one : possible_) {
    std::int64_t& most_ns = widest_ns[one.origin.rank];
    most_ns = std::max(most_ns, one.origin.waited_ns);
  }
  auto possible = std::make_shared<std::vector<Origin>>();
  for (const auto& [rank, most_ns] : widest_ns) {
    if (most_ns > 0) {
      possible->push_back({rank, most_ns});
    }
  }
  held_up_ns_.assign(rows.size(), 0);
  const std::vector<Charge>& pairs = charges.are_pairs_left_out ? pairs_ : charges.pairs;
  for (const Charge& one : pairs) {
    held_up_ns_[one.charged] = std::max(held_up_ns_[one.charged], one.waited_ns);
  }
  if (pairs.empty()) {
    for (const PossibleCharge& one : charges.all_possible()) {
      held_up_ns_[one.charged] = one.most_ns;
    }
  }
  const std::vector<std::uint32_t> pair = visits_.pair_of(operation);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const facts::Interval& wait = charges.waits[i];
    Visit visit;
    visit.holds_up_all = charges.holds_up_all;
    visit.pair = pair;
    visit.waited_ns = wait.least_ns;
    visit.most_ns = std::max(wait.most_ns, wait.least_ns);
    visit.held_up_ns = held_up_ns_[i];
    visit.waited = origins[i];
    visit.possible = possible;
    visits_.add(operation, rows[i], std::move(visit));
  }
}

}  // namespace ringside::metrics
