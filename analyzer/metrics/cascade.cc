// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/cascade.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;
namespace {

constexpr std::int64_t kNoLimit_ns = std::numeric_limits<std::int64_t>::max();

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
    : facts_(facts),
      who_(who),
      visits_(who.all().size()),
      is_cut_(who.all().size()),
      waited_most_ns_(who.all().size()),
      met_(who.all().size()),
      of_waiter_(who.all().size()),
      of_pair_(who.all().size()) {
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

// By how much the rank left an operation later than another one, at most.
std::int64_t Cascade::most_lead_ns(std::uint32_t rank, const Visit& visit, std::uint32_t other,
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

// How long a rank may have waited without another one, since it left `met`, one of its visits, or,
// without one, since both left an operation together: in that time it was delayed as well. What it
// waited on another stream may delay it after `met`, too.
std::int64_t Cascade::waited_elsewhere_ns(std::uint32_t rank, std::uint32_t other,
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

// Finds a visit of the same operation by another rank; null if it is not remembered.
const Cascade::Visit* Cascade::visit_of(std::uint32_t rank, std::uint64_t operation) const {
  const auto& visits = visits_[rank];
  const auto found = std::find_if(visits.begin(), visits.end(),
                                  [&](const Visit& one) { return one.operation == operation; });
  return found == visits.end() ? nullptr : &*found;
}

// How long a rank may have waited in operations that are remembered no more, since it left one
// together with another rank.
std::int64_t Cascade::forgotten_most_ns(std::uint32_t rank, std::uint32_t other) const {
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

// Returns how long the rank surely waited for `rank` in the visit.
std::int64_t Cascade::waited_for(const Visit& visit, std::uint32_t rank) {
  const auto found = std::find_if(visit.waited.begin(), visit.waited.end(),
                                  [&](const Origin& origin) { return origin.rank == rank; });
  return found == visit.waited.end() ? 0 : std::min(found->waited_ns, visit.waited_ns);
}

// By how much a rank may have been delayed without another one, since that one went on to a visit:
// after the last operation before it on the same stream that both left.
std::int64_t Cascade::delayed_since_ns(const Visit& visit, std::uint32_t visitor,
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
    if (const Visit* const met = visit_of(rank, older->operation)) {
      const std::int64_t behind_ns = most_lead_ns(rank, *met, visitor, *older);
      return add_saturating(std::max<std::int64_t>(behind_ns, 0),
                            waited_elsewhere_ns(rank, visitor, met));
    }
  }
  return kNoLimit_ns;
}

// Calls `take` with the earlier operations in which a late rank may have got late, the latest
// first, until it returns false, and with the delay there. Returns by how much earlier ones, which
// are not remembered, may have delayed it, too.
template <typename Take>
std::int64_t Cascade::for_each_cause(std::size_t operation, const RankTimes& late,
                                     std::uint32_t waiter, Take take) const {
  const std::uint32_t late_rank = rank_of(operation, late);
  const auto& visits = visits_[late_rank];
  if (visits.empty()) {
    return 0;
  }
  const match::Matches& matches = facts_.matches();
  const model::Operation own = match::operation_of(facts_.traces(), matches.parts[late.part]);
  const std::uint32_t communicator = matches.operations[operation].communicator;
  Delay alike;  // what the waiter waited, less what the late rank did in the same time
  // The last that both left together. Only what held the late rank for longer delayed it alone.
  const Visit* together = nullptr;
  // An operation in which both took part limits all delays before it: to the time by which the late
  // rank left it later. This is the least limit, and its operation.
  std::int64_t lead_ns = kNoLimit_ns;
  const Visit* apart = nullptr;
  std::size_t behind = 0;  // visits since they met where all were held up
  // Of alike.most_ns: what the waiter may have waited elsewhere, and the most of that.
  std::int64_t elsewhere_ns = 0;
  std::int64_t most_elsewhere_ns = kNoLimit_ns;
  for (const Visit& visit : visits) {
    behind += behind > 0 ? 1 : 0;
    if (behind > kBeside) {
      break;
    }
    const bool is_on_stream = visit.stream != model::kNoName && visit.stream == own.stream;
    const bool is_of_thread = visit.thread == own.tid;
    // One stream, for all that is known. A thread may have several, of which nobody tells.
    const bool may_be_stream =
        is_on_stream ||
        (is_of_thread && (visit.stream == model::kNoName || own.stream == model::kNoName));
    // A stream runs one kernel after the other, in the order of the visits. Stamps of two
    // communicators need not show it, since those of each err by themselves.
    const bool is_own_kernel =
        visit.communicator == communicator && visit.group && visit.group == own.group;
    // The rank's own clock decides, since the estimates of the hosts' clocks bend durations.
    const bool is_own_clock = visit.own_end_ns && own.end_ns && own.start_ns && late.has_execution;
    const std::int64_t error_ns = is_own_clock && may_be_stream && !is_own_kernel
                                      ? add_saturating(visit.late_ns, late.error.early_ns)
                                      : 0;
    const std::int64_t over_ns = is_own_clock
                                     ? subtract_saturating(*visit.own_end_ns, *own.start_ns)
                                     : subtract_saturating(visit.end_ns, late.arrival_ns);
    if (over_ns > error_ns) {
      continue;
    }
    const bool is_surely_before = over_ns <= 0 || is_on_stream;
    std::int64_t lead_here_ns = kNoLimit_ns;
    if (takes_part(visit, waiter)) {
      if (visit.holds_up_all) {
        if (is_surely_before) {
          behind = behind == 0 ? 1 : behind;
          together = together == nullptr || longer_ns(visit, *together) > 0 ? &visit : together;
        }
        continue;
      }
      const Visit* const other = visit_of(waiter, visit.operation);
      const bool is_known = other != nullptr;
      lead_here_ns = is_known && is_surely_before ? most_lead_ns(late_rank, visit, waiter, *other)
                                                  : kNoLimit_ns;
      alike.least_ns =
          add_saturating(alike.least_ns, is_known && is_surely_before ? other->waited_ns : 0);
      alike.most_ns = add_saturating(alike.most_ns, is_known ? other->most_ns : kNoLimit_ns);
    }
    // An operation of the same group may have held it for longer.
    const std::int64_t led_ns =
        apart == nullptr
            ? kNoLimit_ns
            : add_saturating(lead_ns, std::max<std::int64_t>(longer_ns(visit, *apart), 0));
    const std::int64_t limit_ns =
        std::min(led_ns, together == nullptr ? kNoLimit_ns : longer_ns(visit, *together));
    if (lead_here_ns < lead_ns) {
      lead_ns = lead_here_ns;
      apart = &visit;
    }
    if (!(is_of_thread || is_on_stream) || limit_ns <= 0) {
      continue;
    }
    if (visit.waited_ns > 0 && elsewhere_ns < most_elsewhere_ns) {
      most_elsewhere_ns =
          std::min(most_elsewhere_ns, waited_elsewhere_ns(waiter, late_rank, nullptr));
      const std::int64_t now_ns =
          std::min(most_elsewhere_ns, delayed_since_ns(visit, late_rank, waiter));
      alike.most_ns =
          add_saturating(alike.most_ns, std::max<std::int64_t>(now_ns - elsewhere_ns, 0));
      elsewhere_ns = std::max(elsewhere_ns, now_ns);
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
    const std::int64_t least_ns = is_surely_before ? limited(visit.waited_ns - both.most_ns) : 0;
    if (!take(visit, Delay{least_ns, limited(visit.most_ns - both.least_ns)})) {
      return 0;
    }
  }
  return is_cut_[late_rank] && behind == 0
             ? std::max<std::int64_t>(std::min(lead_ns, forgotten_most_ns(late_rank, waiter)), 0)
             : 0;
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
  const std::int64_t rest_ns = for_each_cause(operation, late, waiter, take);
  division.kept_ns -= std::min(division.kept_ns, rest_ns);
  origins.push_back({rank_of(operation, late), division.kept_ns});
  join_origins(origins);
  return division;
}

void Cascade::OfRanks::add(std::uint32_t rank, std::int64_t time_ns) {
  std::int64_t& sum_ns = find(rank);
  sum_ns = add_saturating(sum_ns, time_ns);
}

void Cascade::OfRanks::widen(std::uint32_t rank, std::int64_t time_ns) {
  std::int64_t& most_ns = find(rank);
  most_ns = std::max(most_ns, time_ns);
}

std::int64_t& Cascade::OfRanks::find(std::uint32_t rank) {
  const std::size_t at = rank == kAnyone ? times_ns_.size() - 1 : rank;
  if (times_ns_[at] < 0) {
    times_ns_[at] = 0;
    ranks_.push_back(rank);
  }
  return times_ns_[at];
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
  const std::uint32_t late = rank_of(operation, rows[pair.charged]);
  std::int64_t left_ns = pair.waited_ns;
  const auto take = [&](const Visit& visit, const Delay& delay) {
    left_ns -= std::min(left_ns, delay.least_ns);
    for (const Origin& origin : *visit.possible) {
      if (origin.rank != late) {
        of_pair_.add(origin.rank, std::min(delay.most_ns, origin.waited_ns));
      }
    }
    return true;
  };
  const std::int64_t rest_ns =
      for_each_cause(operation, rows[pair.charged], rank_of(operation, rows[pair.waiter]), take);
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
  std::size_t steps = 0;
  bool has_visits = is_several_;
  for (const PossibleCharge& one : charges.all_possible()) {
    for (const Visit& visit : visits_[rank_of(operation, rows[one.charged])]) {
      steps += visit.possible->size() * rows.size();
      has_visits = true;
      if (visit.holds_up_all &&
          visit.communicator == facts_.matches().operations[operation].communicator) {
        break;  // all ranks left it together
      }
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

// Whether whoever took part in one visit did in the other, and was held up by each.
bool Cascade::are_one(const Visit& older, const Visit& newer) {
  return older.holds_up_all && newer.holds_up_all && older.communicator == newer.communicator &&
         older.thread == newer.thread && older.stream == newer.stream;
}

// The delays of both visits add up, since one follows the other.
void Cascade::join(Visit& older, Visit& newer) {
  newer.waited_ns = add_saturating(newer.waited_ns, older.waited_ns);
  newer.most_ns = add_saturating(newer.most_ns, older.most_ns);
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

// Counts the operation. Returns whether there is nothing to remember: in a single communicator the
// ranks leave such an operation together, so no earlier one makes one of them later than another.
bool Cascade::begin_visits(bool holds_up_all) {
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

std::vector<std::uint32_t> Cascade::pair_of(std::size_t operation) const {
  const match::MatchedOperation& matched = facts_.matches().operations[operation];
  std::vector<std::uint32_t> pair;
  if (matched.way == match::Way::kPair) {
    for (const match::Part& part : match::parts_of(facts_.matches(), matched)) {
      pair.push_back(who_.of(matched.communicator, part.member));
    }
  }
  return pair;
}

void Cascade::add_visit(std::size_t operation, const RankTimes& row, Visit visit) {
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
         longer_ns(*place, visit) > 0) {
    ++place;
  }
  visits.insert(place, std::move(visit));
}

void Cascade::note_met(std::uint32_t rank, const Visit& visit) {
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

void Cascade::remember_open(std::size_t operation, const std::vector<RankTimes>& rows,
                            bool holds_up_all) {
  if (begin_visits(holds_up_all)) {
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
  const std::vector<std::uint32_t> pair = pair_of(operation);
  for (const RankTimes& row : rows) {
    if (!row.has_execution) {
      continue;
    }
    Visit visit;
    visit.holds_up_all = holds_up_all;
    visit.pair = pair;
    visit.most_ns = row.most_wall_ns();
    visit.possible = possible;
    add_visit(operation, row, std::move(visit));
  }
}

void Cascade::remember(std::size_t operation, const std::vector<RankTimes>& rows,
                       const OperationCharges& charges,
                       const std::vector<std::vector<Origin>>& origins) {
  if (begin_visits(charges.holds_up_all)) {
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
  const std::vector<std::uint32_t> pair = pair_of(operation);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const facts::Interval& wait = charges.waits[i];
    Visit visit;
    visit.holds_up_all = charges.holds_up_all;
    visit.pair = pair;
    visit.waited_ns = wait.least_ns;
    visit.most_ns = std::max(wait.most_ns, wait.least_ns);
    visit.waited = origins[i];
    visit.possible = possible;
    add_visit(operation, rows[i], std::move(visit));
  }
}

}  // namespace ringside::metrics
