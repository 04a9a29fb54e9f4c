// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/cascade.h"

#include <algorithm>
#include <limits>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;
namespace {

// One rank may be the origin by several ways. Their number would grow with each operation in
// between.
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

}  // namespace

Cascade::Cascade(const facts::Facts& facts, const GlobalRanks& who)
    : facts_(facts), who_(who), visits_(who.all().size()) {
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

std::uint32_t Cascade::rank_of(std::size_t operation, const RankTimes& row) const {
  return who_.of(facts_.matches().operations[operation].communicator, row.member);
}

bool Cascade::takes_part(const Visit& visit, std::uint32_t rank) const {
  if (visit.pair.empty()) {
    const auto& ranks = ranks_[visit.communicator];
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  }
  return std::find(visit.pair.begin(), visit.pair.end(), rank) != visit.pair.end();
}

// By how much the rank left one later than another, by its own clock if that is known.
std::int64_t Cascade::longer_ns(const Visit& visit, const Visit& other) {
  return visit.own_end_ns && other.own_end_ns
             ? subtract_saturating(*visit.own_end_ns, *other.own_end_ns)
             : subtract_saturating(visit.end_ns, other.end_ns);
}

// Returns how long the rank surely waited for `rank` in the visit.
std::int64_t Cascade::waited_for(const Visit& visit, std::uint32_t rank) {
  const auto found = std::find_if(visit.waited.begin(), visit.waited.end(),
                                  [&](const Origin& origin) { return origin.rank == rank; });
  return found == visit.waited.end() ? 0 : std::min(found->waited_ns, visit.waited_ns);
}

// Calls `take` with the earlier operations in which a late rank may have got late, the latest
// first, until it returns false, and with the delay there.
template <typename Take>
void Cascade::for_each_cause(std::size_t operation, const RankTimes& late, std::uint32_t waiter,
                             Take take) const {
  const auto& visits = visits_[rank_of(operation, late)];
  if (visits.empty()) {
    return;
  }
  const match::Matches& matches = facts_.matches();
  const model::Operation own = match::operation_of(facts_.traces(), matches.parts[late.part]);
  const std::uint32_t communicator = matches.operations[operation].communicator;
  Delay alike;  // what the waiter waited, less what the late rank did in the same time
  // The last that both left together. Only what held the late rank for longer delayed it alone.
  const Visit* together = nullptr;
  for (const Visit& visit : visits) {
    const bool is_on_stream = visit.stream != model::kNoName && visit.stream == own.stream;
    const bool has_to_wait = visit.thread == own.tid || is_on_stream;
    // A stream runs one kernel after the other, in the order of the visits. Stamps of two
    // communicators need not show it, since those of each err by themselves.
    const bool is_own_kernel =
        visit.communicator == communicator && visit.group && visit.group == own.group;
    const std::int64_t error_ns =
        is_on_stream && !is_own_kernel ? add_saturating(visit.late_ns, late.error.early_ns) : 0;
    // The rank's own clock decides, since the estimates of the hosts' clocks bend durations.
    const bool is_before = visit.own_end_ns && own.end_ns && own.start_ns && late.has_execution
                               ? subtract_saturating(*visit.own_end_ns, *own.start_ns) <= error_ns
                               : visit.end_ns <= late.arrival_ns;
    if (!is_before) {
      continue;
    }
    if (takes_part(visit, waiter)) {
      if (visit.holds_up_all) {
        together = together == nullptr || longer_ns(visit, *together) > 0 ? &visit : together;
        continue;
      }
      const auto& others = visits_[waiter];
      const auto other = std::find_if(others.begin(), others.end(), [&](const Visit& one) {
        return one.operation == visit.operation;
      });
      const bool is_known = other != others.end();
      alike.least_ns = add_saturating(alike.least_ns, is_known ? other->waited_ns : 0);
      alike.most_ns = add_saturating(
          alike.most_ns, is_known ? other->most_ns : std::numeric_limits<std::int64_t>::max());
    }
    const std::int64_t limit_ns = together == nullptr ? std::numeric_limits<std::int64_t>::max()
                                                      : longer_ns(visit, *together);
    if (!has_to_wait || limit_ns <= 0) {
      continue;
    }
    const Delay both{std::min(alike.least_ns, visit.most_ns),
                     std::min(alike.most_ns, visit.waited_ns)};
    alike.least_ns -= both.least_ns;
    alike.most_ns -= both.most_ns;
    // The late rank may have waited there for the waiter itself: then both were late.
    const std::int64_t own_ns = waited_for(visit, waiter);
    const auto limited = [&](std::int64_t delay_ns) {
      return std::clamp<std::int64_t>(delay_ns - own_ns, 0, limit_ns);
    };
    if (!take(visit, Delay{limited(visit.waited_ns - both.most_ns),
                           limited(visit.most_ns - both.least_ns)})) {
      return;
    }
  }
}

Division Cascade::divide(std::size_t operation, const std::vector<RankTimes>& rows,
                         const Charge& charge, std::vector<Origin>& origins) const {
  const RankTimes& late = rows[charge.charged];
  std::int64_t left_ns = charge.waited_ns;
  Division division{charge.waited_ns, 0};
  const std::uint32_t waiter = rank_of(operation, rows[charge.waiter]);
  const auto take = [&](const Visit& visit, const Delay& delay) {
    const std::int64_t passed_ns = std::min(left_ns, delay.least_ns);
    const auto of_others = static_cast<double>(visit.waited_ns - waited_for(visit, waiter));
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
    division.kept_ns -= std::min(division.kept_ns, delay.most_ns);
    return left_ns > 0;
  };
  for_each_cause(operation, late, waiter, take);
  origins.push_back({rank_of(operation, late), division.kept_ns});
  join_origins(origins);
  return division;
}

// Only one of those that may have come last did, so of several ways to the same origin the widest
// counts.
void Cascade::divide_pair(std::size_t operation, const std::vector<RankTimes>& rows,
                          const Charge& pair) {
  const std::uint32_t late = rank_of(operation, rows[pair.charged]);
  of_pair_.clear();
  std::int64_t left_ns = pair.waited_ns;
  for_each_cause(operation, rows[pair.charged], rank_of(operation, rows[pair.waiter]),
                 [&](const Visit& visit, const Delay& delay) {
                   left_ns -= std::min(left_ns, delay.least_ns);
                   for (const Origin& origin : *visit.possible) {
                     if (origin.rank != late) {
                       std::int64_t& sum_ns = of_pair_[origin.rank];
                       sum_ns = add_saturating(sum_ns, std::min(delay.most_ns, origin.waited_ns));
                     }
                   }
                   return true;
                 });
  of_pair_[late] = left_ns;
  for (const auto& [rank, most_ns] : of_pair_) {
    std::int64_t& widest_ns = of_waiter_[rank];
    widest_ns = std::max(widest_ns, std::min(most_ns, pair.waited_ns));
  }
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
  std::size_t steps = 0;
  bool has_visits = is_several_;
  for (const PossibleCharge& one : charges.all_possible()) {
    for (const Visit& visit : visits_[rank_of(operation, rows[one.charged])]) {
      steps += visit.possible->size() * rows.size();
      has_visits = true;
    }
  }
  if (!has_visits) {
    for (const PossibleCharge& one : charges.all_possible()) {
      possible_.push_back({kAnyone, {rank_of(operation, rows[one.charged]), one.most_ns}});
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
  of_waiter_.clear();
  const std::vector<Charge>& pairs = pairs_of(rows, charges);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::uint32_t waiter = pairs[i].waiter;
    divide_pair(operation, rows, pairs[i]);
    if (i + 1 == pairs.size() || pairs[i + 1].waiter != waiter) {
      for (const auto& [rank, most_ns] : of_waiter_) {
        possible_.push_back({waiter, {rank, most_ns}});
      }
      of_waiter_.clear();
    }
  }
  return possible_;
}

void Cascade::remember(std::size_t operation, const std::vector<RankTimes>& rows,
                       const OperationCharges& charges,
                       const std::vector<std::vector<Origin>>& origins) {
  ++operations_;
  if (charges.holds_up_all && !is_several_) {
    // The ranks left together, so nothing that was before makes one of them later than another.
    for (std::deque<Visit>& of_rank : visits_) {
      of_rank.clear();
    }
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
  const match::MatchedOperation& matched = facts_.matches().operations[operation];
  std::vector<std::uint32_t> pair;
  if (matched.way == match::Way::kPair) {
    for (const match::Part& part : match::parts_of(facts_.matches(), matched)) {
      pair.push_back(who_.of(matched.communicator, part.member));
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& visits = visits_[rank_of(operation, rows[i])];
    const model::Operation own =
        match::operation_of(facts_.traces(), facts_.matches().parts[rows[i].part]);
    if (visits.size() == kVisits) {
      visits.pop_back();
    }
    const facts::Interval& wait = charges.waits[i];
    visits.push_front({operations_, charges.holds_up_all, matched.communicator, pair,
                       rows[i].end_ns, rows[i].has_execution ? own.end_ns : std::nullopt,
                       rows[i].error.late_ns, own.tid, own.stream, own.group, wait.least_ns,
                       std::max(wait.most_ns, wait.least_ns), origins[i], possible});
  }
}

}  // namespace ringside::metrics
