// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/late_costs.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "analyzer/match/describe.h"
#include "analyzer/metrics/operation_order.h"
#include "analyzer/model/in_order.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

// So much memory is taken by the operations that one core reads at a time. With less, reading them
// costs little more than asking for the next ones.
constexpr std::size_t kLeastBytes = std::size_t{1} << 18U;
constexpr std::size_t kMostBytes = std::size_t{1} << 23U;

void raise(std::int64_t& sum_ns, std::int64_t by_ns) {
  sum_ns = add_saturating(sum_ns, by_ns);
}

}  // namespace

LateCosts::LateCosts(const facts::Facts& facts, RowsBy by)
    : ranks(),
      facts_(facts),
      matches_(facts.matches()),
      grouping_(facts.traces(), matches_, by),
      who_(facts.traces(), matches_),
      cascade_(facts, who_),
      blocks_(matches_, facts.alignment(), who_),
      free_times_(matches_.communicators),
      fresh_waits_(who_.all().size()),
      whole_(matches_.communicators.size()) {
  for (const GlobalRank& one : who_.all()) {
    const model::Process& process = facts.traces().files[one.file].process;
    Suspect& rank = ranks.emplace_back();
    rank.facts.label = one.label;
    rank.facts.host = process.host;
    rank.facts.pid = process.pid;
    rank.host = facts.alignment().host_of(one.file);
  }
  for (const auto& one : facts.alignment().hosts()) {
    Suspect& host = hosts.emplace_back();
    host.facts.label = host.facts.host = one.host;
    host.host = static_cast<std::uint32_t>(hosts.size() - 1);
  }
  most_elsewhere_ns_.resize(hosts.size());
}

// Operations are read on all cores, and added one after the other.
bool LateCosts::add_all(const facts::Fold& also) {
  bool is_contradictory = false;
  const std::vector<std::uint32_t> order = order_operations(facts_, &is_contradictory);
  const std::vector<std::span<const std::uint32_t>> portions = portions_of(order);
  std::vector<ChargeFinder> finders(core_count(), ChargeFinder(facts_, cascade_.needs_pairs()));
  // The memory of each serves one operation after the other.
  std::vector<match::Executions> executions(core_count());
  std::vector<std::vector<Read>> reads(core_count() + 2);
  in_order_on_cores(
      portions.size(), reads.size(),
      [&](std::size_t thread, std::size_t portion) {
        std::vector<Read>& made = reads[portion % reads.size()];
        made.resize(std::max(made.size(), portions[portion].size()));
        facts_.ranks_of_each(portions[portion], executions[thread],
                             [&](std::size_t i, const facts::SeenOperation& seen) {
                               if (also) {
                                 also(thread, seen);
                               }
                               take(seen, finders[thread], made[i]);
                             });
      },
      [&](std::size_t portion) {
        for (std::size_t i = 0; i < portions[portion].size(); ++i) {
          add(portions[portion][i], reads[portion % reads.size()][i]);
        }
      });
  return !is_contradictory;
}

// Cuts the order into what one core reads at a time.
std::vector<std::span<const std::uint32_t>> LateCosts::portions_of(
    std::span<const std::uint32_t> order) const {
  std::vector<std::span<const std::uint32_t>> portions;
  std::size_t first = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t parts = matches_.operations[order[i]].part_count;
    bytes += parts * sizeof(RankTimes);
    bytes += cascade_.needs_pairs()
                 ? std::min(parts * parts, ChargeFinder::kMostPairs) * sizeof(Charge)
                 : 0;
    const std::size_t count = i + 1 - first;
    const bool is_full = count >= match::Executions::kAtATime && bytes >= kLeastBytes;
    if (is_full || bytes >= kMostBytes || i + 1 == order.size()) {
      portions.push_back(order.subspan(first, count));
      first = i + 1;
      bytes = 0;
    }
  }
  return portions;
}

void LateCosts::take(const facts::SeenOperation& seen, ChargeFinder& finder, Read& made) const {
  made.known = seen.facts;
  made.rows.swap(seen.rows);
  made.is_unseen = std::any_of(made.rows.begin(), made.rows.end(),
                               [](const RankTimes& row) { return row.open_ns > 0; });
  // Calls do not tell who waited. A GPU runs behind them by any time.
  const bool is_seen = made.known.basis == facts::Basis::kExecution ||
                       (made.known.basis == facts::Basis::kSome &&
                        facts_.flow_of(seen.index, made.rows).flow == facts::Flow::kAll);
  made.has_charges = !made.known.is_impossible && made.known.has_all_ranks && is_seen;
  made.holds_up_all = !made.has_charges && !made.rows.empty() &&
                      facts_.flow_of(seen.index, made.rows).flow == facts::Flow::kAll;
  if (made.has_charges) {
    made.charges = finder.find(seen.index, made.known.basis, made.rows, seen.arrivals);
  }
}

void LateCosts::add(std::uint32_t operation, Read& read) {
  const match::MatchedOperation& matched = matches_.operations[operation];
  ++counts.operations;
  blocks_.begin(matched.communicator);
  const Parties& parties = count_parts(matched);
  const facts::OperationFacts& known = read.known;
  rows_.swap(read.rows);
  if (!read.has_charges) {
    cascade_.remember_open(operation, rows_, read.holds_up_all);
  }
  if (known.is_impossible) {
    ++(known.has_all_ranks ? counts.impossible : counts.partial);
    return;
  }
  times_.add_times(matches_.communicators[matched.communicator].run, rows_);
  if (!known.has_all_ranks) {
    ++counts.partial;  // an absent rank may have been the last
    return;
  }
  const bool is_seen = known.basis == facts::Basis::kExecution;
  counts.by_call += read.has_charges ? 0 : 1;
  counts.unseen += read.has_charges && (read.is_unseen || !is_seen) ? 1 : 0;
  for (const RankTimes& row : rows_) {
    const auto free_ns = free_times_.of(matched.communicator, row);
    if (row.times_from == model::TimesFrom::kProxy) {
      blocks_.leave_out_own_times();
    } else if (free_ns && is_seen) {
      blocks_.add_own_time(row.member, static_cast<double>(*free_ns));
    }
  }
  free_times_.note_ends(matched.communicator, rows_, is_seen);
  if (read.has_charges) {
    charge(operation, parties, read);
  }
}

// Counts the operation for each rank that takes part, whether anybody waits or not. It counts for a
// host only if another one takes part, too.
const LateCosts::Parties& LateCosts::count_parts(const match::MatchedOperation& operation) {
  const Parties& parties = parties_of(operation);
  for (const std::uint32_t rank : parties.ranks) {
    ++ranks[rank].facts.took_part;
    times_.add_rank(matches_.communicators[operation.communicator].run, rank);
  }
  for (const std::uint32_t host : parties.hosts) {
    hosts[host].facts.took_part += parties.hosts.size() > 1 ? 1 : 0;
  }
  return parties;
}

// Most operations are of all members of their communicator, so these are not found for each.
const LateCosts::Parties& LateCosts::parties_of(const match::MatchedOperation& operation) {
  const std::uint32_t communicator = operation.communicator;
  const auto parts = match::parts_of(matches_, operation);
  const bool is_whole = operation.way != match::Way::kPair && operation.way != match::Way::kGroup &&
                        parts.size() == matches_.communicators[communicator].members.size();
  Parties& parties = is_whole ? whole_[communicator] : parties_;
  if (is_whole && !parties.ranks.empty()) {
    return parties;
  }
  parties.ranks.clear();
  parties.hosts.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || parts[i].member != parts[i - 1].member) {
      parties.ranks.push_back(who_.of(communicator, parts[i].member));
      parties.hosts.push_back(ranks[parties.ranks.back()].host);
    }
  }
  std::sort(parties.hosts.begin(), parties.hosts.end());
  parties.hosts.erase(std::unique(parties.hosts.begin(), parties.hosts.end()), parties.hosts.end());
  return parties;
}

void LateCosts::charge(std::uint32_t operation, const Parties& parties, const Read& read) {
  const OperationCharges& charges = read.charges;
  const match::MatchedOperation& matched = matches_.operations[operation];
  for (const std::uint32_t rank : parties.ranks) {
    ++ranks[rank].facts.judged;
  }
  for (const std::uint32_t host : parties.hosts) {
    hosts[host].facts.judged += parties.hosts.size() > 1 ? 1 : 0;
  }
  of_rows_.assign(rows_.size(), {});
  origins_.resize(std::max(origins_.size(), rows_.size()));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    origins_[i].clear();
  }
  take_waits(matched, charges);
  for (const Charge& one : charges.surely) {
    take(matched, one, cascade_.divide(operation, rows_, one, origins_[one.waiter]),
         charges.likeness != Likeness::kNone);
  }
  for (const Charge& one : charges.of_host) {
    std::vector<Origin> unused;
    take_of_host(one, cascade_.divide(operation, rows_, one, unused).kept_ns);
  }
  const bool is_decided =
      std::count_if(charges.possibly.begin(), charges.possibly.end(),
                    [](const PossibleCharge& possible) { return possible.most_ns > 0; }) == 1 &&
      !charges.surely.empty();
  ++(is_decided ? counts.decided : counts.undecided);
  take_possible(operation, charges);
  cascade_.remember(operation, rows_, charges, origins_);
  add_to_blocks(read.known, charges);
  note_last(matched);
}

FreshWaits::Place LateCosts::place_of(const match::MatchedOperation& matched,
                                      const OperationCharges& charges, std::uint32_t row) const {
  const bool is_pair = matched.way == match::Way::kPair && rows_.size() == 2;
  const std::uint32_t partner = is_pair ? 1 - row : charges.root;
  return {matched.communicator,
          partner == RankTimes::kNobody ? std::nullopt : std::optional(rank_of(matched, partner))};
}

// A wait does not count where the rank has waited in another operation meanwhile.
void LateCosts::take_waits(const match::MatchedOperation& matched,
                           const OperationCharges& charges) {
  WaitedAt& here = waited_[{grouping_.group_of(matched),
                            std::string(match::function_name(facts_.traces(), matched))}];
  ++here.operations;
  fresh_.clear();
  is_all_fresh_ = true;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const std::uint32_t rank = rank_of(matched, i);
    const facts::Interval& wait = charges.waits[i];
    const facts::Interval& fresh =
        fresh_.emplace_back(fresh_waits_.take(rank, place_of(matched, charges, i), rows_[i], wait));
    is_all_fresh_ =
        is_all_fresh_ && fresh.least_ns == wait.least_ns && fresh.most_ns == wait.most_ns;
    raise(counts.waited_ns, fresh.least_ns);
    raise(here.waited_ns, fresh.least_ns);
    raise(ranks[rank].facts.waited_ns, fresh.least_ns);
  }
  if (is_all_fresh_) {
    return;
  }
  fresh_most_ = {};
  fresh_most_of_host_.assign(hosts.size(), {});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    fresh_most_.add(fresh_[i].most_ns);
    fresh_most_of_host_[rows_[i].host].add(fresh_[i].most_ns);
  }
}

// Returns the part of `ns`, a time within that charge, that counts.
std::int64_t LateCosts::fresh_part_of(const Charge& one, std::int64_t ns) const {
  const std::int64_t fresh_ns = fresh_[one.waiter].least_ns;
  return fresh_ns >= one.waited_ns
             ? ns
             : static_cast<std::int64_t>(static_cast<double>(ns) * static_cast<double>(fresh_ns) /
                                         static_cast<double>(one.waited_ns));
}

PossibleCharge LateCosts::fresh_part_of(const PossibleCharge& one) const {
  PossibleCharge fresh = one;
  if (!is_all_fresh_) {
    const std::int64_t own_ns = fresh_[one.charged].most_ns;
    fresh.most_ns = std::min(one.most_ns, fresh_most_.without(own_ns));
    fresh.most_in_host_ns =
        std::min(one.most_in_host_ns, fresh_most_of_host_[rows_[one.charged].host].without(own_ns));
  }
  return fresh;
}

void LateCosts::take(const match::MatchedOperation& matched, const Charge& one,
                     const Division& division, bool is_compared) {
  const bool is_in_host = rows_[one.waiter].host == rows_[one.charged].host;
  const std::int64_t waited_ns = fresh_part_of(one, one.waited_ns);
  Lateness& charged = ranks[rank_of(matched, one.charged)].facts;
  raise(charged.caused_wait_ns, waited_ns);
  raise(charged.passed_on_ns, fresh_part_of(one, division.passed_ns));
  raise(hosts[rows_[one.charged].host].facts.caused_wait_ns, is_in_host ? 0 : waited_ns);
  for (const Origin& origin : origins_[one.waiter]) {
    Suspect& rank = ranks[origin.rank];
    const std::int64_t of_origin_ns = fresh_part_of(one, origin.waited_ns);
    raise(rank.facts.cost_ns, of_origin_ns);
    raise(rank.facts.uncompared_ns, is_compared ? 0 : of_origin_ns);
    if (rank.host != rows_[one.waiter].host) {
      raise(rank.cost_elsewhere_ns, of_origin_ns);
      raise(hosts[rank.host].facts.cost_ns, of_origin_ns);
    }
  }
  OfRow& row = of_rows_[one.charged];
  row.margin_ns = row.margin_ns == 0 ? one.waited_ns : std::min(row.margin_ns, one.waited_ns);
  raise(row.direct_ns, waited_ns);
  raise(row.in_host_ns, is_in_host ? waited_ns : 0);
  const auto kept = static_cast<double>(fresh_part_of(one, division.kept_ns));
  row.block.least += kept;
  (is_in_host ? row.block.least_in_host : row.block.least_elsewhere) += kept;
}

void LateCosts::take_of_host(const Charge& one, std::int64_t kept_ns) {
  const std::int64_t fresh_kept_ns = fresh_part_of(one, kept_ns);
  Lateness& host = hosts[rows_[one.charged].host].facts;
  raise(host.caused_wait_ns, fresh_part_of(one, one.waited_ns));
  raise(host.cost_ns, fresh_kept_ns);
  OfRow& row = of_rows_[one.charged];
  row.margin_ns = row.margin_ns == 0 ? one.waited_ns : std::min(row.margin_ns, one.waited_ns);
  raise(row.of_host_ns, fresh_part_of(one, one.waited_ns));
  row.block.least_elsewhere += static_cast<double>(fresh_kept_ns);
}

// Only one rank of a host came last, so of all its ranks the one counts that may have cost most.
void LateCosts::take_possible(std::uint32_t operation, const OperationCharges& charges) {
  const auto close_waiter = [&] {
    for (const std::uint32_t host : hosts_elsewhere_) {
      raise(hosts[host].facts.cost_most_ns, std::exchange(most_elsewhere_ns_[host], 0));
    }
    hosts_elsewhere_.clear();
  };
  const auto take_elsewhere = [&](std::uint32_t host, std::int64_t ns) {
    std::int64_t& most_ns = most_elsewhere_ns_[host];
    if (ns > most_ns) {
      if (most_ns == 0) {
        hosts_elsewhere_.push_back(host);
      }
      most_ns = ns;
    }
  };
  const auto& possible = cascade_.divide_possibly(operation, rows_, charges);
  for (std::size_t i = 0; i < possible.size(); ++i) {
    const auto& [waiter, origin] = possible[i];
    if (origin.rank == Cascade::kAnyone) {
      raise(open_ns_,
            is_all_fresh_ ? origin.waited_ns : std::min(origin.waited_ns, fresh_most_.all()));
    } else if (waiter == Cascade::kAnyone) {
      const PossibleCharge fresh = fresh_part_of(charges.all_possible()[i]);
      raise(ranks[origin.rank].facts.cost_most_ns, fresh.most_ns);
      take_elsewhere(ranks[origin.rank].host, fresh.most_ns - fresh.most_in_host_ns);
    } else {
      const std::uint32_t host = ranks[origin.rank].host;
      const std::int64_t waited_ns = std::min(origin.waited_ns, fresh_[waiter].most_ns);
      raise(ranks[origin.rank].facts.cost_most_ns, waited_ns);
      if (host != rows_[waiter].host) {
        take_elsewhere(host, waited_ns);
      }
    }
    const bool is_last = i + 1 == possible.size() || possible[i + 1].waiter != waiter;
    if (waiter != Cascade::kAnyone && is_last) {
      close_waiter();
    }
  }
  close_waiter();
}

void LateCosts::add_to_blocks(const facts::OperationFacts& known, const OperationCharges& charges) {
  // Nobody can be compared with a root for which that is unknown.
  const double busy_most = known.busy ? static_cast<double>(known.busy->most_ns)
                                      : std::numeric_limits<double>::infinity();
  const bool is_draining =
      charges.likeness == Likeness::kDraining && charges.root != RankTimes::kNobody;
  // If only the root waits, the others stay behind when they are late once. Only their own times
  // tell that from being late again, and the network's times do not show these.
  const bool is_comparable =
      charges.likeness == Likeness::kAlike ||
      (is_draining && std::none_of(rows_.begin(), rows_.end(), [](const RankTimes& row) {
         return row.times_from == model::TimesFrom::kProxy;
       }));
  BlockCharge of_others;
  for (const PossibleCharge& one : charges.possibly) {
    const PossibleCharge possible = fresh_part_of(one);
    const OfRow& row = of_rows_[possible.charged];
    const auto direct = static_cast<double>(row.direct_ns);
    const auto in_host = static_cast<double>(row.in_host_ns);
    BlockCharge charge = row.block;
    charge.most =
        std::max(charge.least + static_cast<double>(possible.most_ns) - direct, charge.least);
    charge.most_in_host =
        std::max(charge.least_in_host + static_cast<double>(possible.most_in_host_ns) - in_host,
                 charge.least_in_host);
    charge.most_elsewhere = std::max(charge.most - charge.most_in_host, charge.least_elsewhere);
    const std::uint32_t member = rows_[possible.charged].member;
    if (charges.likeness == Likeness::kRooted) {
      blocks_.add_root(member, charge, static_cast<double>(possible.mirrored_ns), busy_most);
    } else if (is_comparable) {
      blocks_.add(member, charge);
      of_others += charge;
    }
  }
  if (is_draining) {
    // The root counts as one that is charged like the others in the mean.
    const std::uint32_t root = rows_[charges.root].member;
    blocks_.add_drain(root, busy_most);
    blocks_.add(root, of_others / static_cast<double>(rows_.size() - 1));
  }
}

// Notes the last arrival for the rank for which most was waited, and for its host.
void LateCosts::note_last(const match::MatchedOperation& matched) {
  const auto most =
      std::max_element(of_rows_.begin(), of_rows_.end(), [](const OfRow& a, const OfRow& b) {
        return a.direct_ns + a.of_host_ns < b.direct_ns + b.of_host_ns;
      });
  if (most->direct_ns + most->of_host_ns <= 0) {
    return;
  }
  const auto row = static_cast<std::uint32_t>(most - of_rows_.begin());
  Suspect& rank = ranks[rank_of(matched, row)];
  const auto note = [&](Suspect& suspect, double kept) {
    Lateness& facts = suspect.facts;
    const auto kept_ns = static_cast<std::int64_t>(kept);
    ++facts.last;
    ++facts.last_in[matched.communicator];
    raise(facts.delay_ns, most->margin_ns);
    if (most->margin_ns > facts.most_margin_ns) {
      facts.most_margin_ns = most->margin_ns;
      facts.most_at_ns = rows_[row].arrival_ns;
    }
    facts.most_cost_ns = std::max(facts.most_cost_ns, kept_ns);
    suspect.events.push_back({rows_[row].arrival_ns, facts.took_part, kept_ns, most->margin_ns});
  };
  if (most->direct_ns > 0) {
    note(rank, most->block.least);
  }
  if (std::any_of(rows_.begin(), rows_.end(),
                  [&](const RankTimes& other) { return other.host != rank.host; })) {
    note(hosts[rank.host], std::max(most->block.least, most->block.least_elsewhere));
  }
}

// Finds what each would cost if it was like the others are on average.
void LateCosts::finish() {
  counts.all_time_ns = times_.all_ns();
  // Nobody waits for longer than it is there, whatever its calls leave open.
  counts.waited_most_ns = std::clamp(fresh_waits_.most_ns(), counts.waited_ns,
                                     std::max(counts.all_time_ns, counts.waited_ns));
  counts.grouped_by = grouping_.by();
  for (const auto& [group, waited] : waited_) {
    WaitedAt& all = counts.by_group[{grouping_.text_of(group.first), group.second}];
    all.operations += waited.operations;
    raise(all.waited_ns, waited.waited_ns);
  }
  for (std::vector<Suspect>* const suspects : {&ranks, &hosts}) {
    double sum = 0;
    double count = 0;
    for (Suspect& one : *suspects) {
      // Limits of several operations at once may exceed all waiting.
      one.facts.cost_most_ns = std::max(
          std::min(add_saturating(one.facts.cost_most_ns, open_ns_), counts.waited_most_ns),
          one.facts.cost_ns);
      if (one.facts.took_part > 0) {
        sum += static_cast<double>(one.facts.cost_ns);
        count += 1;
      }
    }
    for (Suspect& one : *suspects) {
      if (count > 1) {
        one.facts.expected_ns =
            static_cast<std::int64_t>((sum - static_cast<double>(one.facts.cost_ns)) / (count - 1));
      }
    }
  }
}

}  // namespace ringside::metrics
