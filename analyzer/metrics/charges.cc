// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/charges.h"

#include <algorithm>
#include <limits>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

std::int64_t since(const std::vector<RankTimes>& rows, const RankTimes& row) {
  return subtract_saturating(row.arrival_ns, rows.front().arrival_ns);
}

std::int64_t early(const std::vector<RankTimes>& rows, const RankTimes& row) {
  return subtract_saturating(since(rows, row), row.error.late_ns);
}

std::int64_t late(const std::vector<RankTimes>& rows, const RankTimes& row) {
  return add_saturating(since(rows, row), row.error.early_ns);
}

std::int64_t positive(std::int64_t value) {
  return std::max<std::int64_t>(value, 0);
}

}  // namespace

const OperationCharges& ChargeFinder::find(std::size_t operation,
                                           const std::vector<RankTimes>& rows) {
  found_.surely.clear();
  found_.possibly.clear();
  found_.likeness = Likeness::kNone;
  if (rows.size() < 2) {
    return found_;
  }
  const facts::FlowOfOperation flow = facts_.flow_of(operation, rows);
  const match::Pattern pattern = facts_.matches().operations[operation].pattern;
  switch (flow.flow) {
    case facts::Flow::kAll:
      found_.likeness = Likeness::kAlike;
      find_all(rows);
      break;
    case facts::Flow::kFromRoot:
      found_.likeness = Likeness::kRooted;
      if (flow.root != RankTimes::kNobody) {
        find_from_root(rows, flow.root);
      }
      break;
    case facts::Flow::kToRoot:
    case facts::Flow::kLinks:
      if (pattern == match::Pattern::kRing || pattern == match::Pattern::kAlltoAllv) {
        found_.likeness = Likeness::kAlike;
      }
      find_by_facts(rows, flow);
      break;
    case facts::Flow::kUnknown:
      break;
  }
  if (facts_.operations()[operation].basis == facts::Basis::kSome) {
    leave_open(rows);
  }
  return found_;
}

// Some ranks ran it, and of others only the calls are known: any of them may have come last, as
// long after its call as the others were there.
void ChargeFinder::leave_open(const std::vector<RankTimes>& rows) {
  found_.surely.clear();
  found_.possibly.clear();
  std::int64_t wall_ns = 0;
  for (const RankTimes& row : rows) {
    wall_ns = add_saturating(wall_ns, row.has_execution ? row.wall_ns() : 0);
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    PossibleCharge possible;
    possible.charged = i;
    possible.most_ns = possible.most_in_host_ns =
        subtract_saturating(wall_ns, rows[i].has_execution ? rows[i].wall_ns() : 0);
    found_.possibly.push_back(possible);
  }
}

// Every rank needs every other, so each waits for the last.
void ChargeFinder::find_all(const std::vector<RankTimes>& rows) {
  collect_hosts(rows);
  add_sure(rows);
  add_possible(rows);
}

// One margin holds for all hosts of the operation: with a smaller one for some, what is sure would
// be sure of these more often.
void ChargeFinder::collect_hosts(const std::vector<RankTimes>& rows) {
  hosts_.clear();
  slots_.resize(facts_.alignment().hosts().size());
  std::int64_t widest_ns = 0;
  std::int64_t second_ns = 0;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const RankTimes& row = rows[i];
    std::uint32_t& slot = slots_[row.host];
    if (slot >= hosts_.size() || hosts_[slot].host != row.host) {
      slot = static_cast<std::uint32_t>(hosts_.size());
      HostRows host;
      host.host = row.host;
      host.is_known = row.clock_ns != facts::kUnknownClock_ns;
      hosts_.push_back(host);
      if (host.is_known) {
        second_ns = std::max(second_ns, std::min(widest_ns, row.clock_ns));
        widest_ns = std::max(widest_ns, row.clock_ns);
      }
    }
    HostRows& host = hosts_[slot];
    const std::int64_t early_ns = early(rows, row);
    ++host.ranks;
    host.sum_ns = add_saturating(host.sum_ns, early_ns);
    host.wall_ns = add_saturating(host.wall_ns, row.wall_ns());
    if (host.last == RankTimes::kNobody || early_ns > host.last_ns) {
      host.before = host.last;
      host.before_ns = host.last_ns;
      host.last = i;
      host.last_ns = early_ns;
    } else if (host.before == RankTimes::kNobody || early_ns > host.before_ns) {
      host.before = i;
      host.before_ns = early_ns;
    }
  }
  margin_ns_ = add_saturating(widest_ns, second_ns);
}

// A rank surely waited for the last of its own host, or for that of another host if this one came
// later by more than the margin.
void ChargeFinder::add_sure(const std::vector<RankTimes>& rows) {
  const HostRows* first = nullptr;
  const HostRows* second = nullptr;
  for (const HostRows& host : hosts_) {
    if (!host.is_known) {
      continue;
    }
    if (first == nullptr || host.last_ns > first->last_ns) {
      second = first;
      first = &host;
    } else if (second == nullptr || host.last_ns > second->last_ns) {
      second = &host;
    }
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const HostRows& own = host_of(rows[i]);
    std::uint32_t charged = own.last == i ? own.before : own.last;
    std::int64_t until_ns =
        charged == RankTimes::kNobody ? kNever : (own.last == i ? own.before_ns : own.last_ns);
    const HostRows* const other = first == &own ? second : first;
    if (own.is_known && other != nullptr) {
      const std::int64_t other_ns = subtract_saturating(other->last_ns, margin_ns_);
      if (charged == RankTimes::kNobody || other_ns > until_ns) {
        charged = other->last;
        until_ns = other_ns;
      }
    }
    const std::int64_t waited_ns =
        std::min(subtract_saturating(until_ns, late(rows, rows[i])), rows[i].wall_ns());
    if (charged != RankTimes::kNobody && waited_ns > 0) {
      found_.surely.push_back({i, charged, waited_ns});
    }
  }
}

// Whoever may have been the last may have made all others wait for it.
void ChargeFinder::add_possible(const std::vector<RankTimes>& rows) {
  std::int64_t ranks = 0;  // of hosts whose clocks are known
  std::int64_t sum_ns = 0;
  std::int64_t unknown_wall_ns = 0;
  std::int64_t wall_ns = 0;
  for (const HostRows& host : hosts_) {
    wall_ns = add_saturating(wall_ns, host.wall_ns);
    if (host.is_known) {
      ranks += host.ranks;
      sum_ns = add_saturating(sum_ns, host.sum_ns);
    } else {
      unknown_wall_ns = add_saturating(unknown_wall_ns, host.wall_ns);
    }
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const HostRows& own = host_of(rows[i]);
    const std::int64_t late_ns = late(rows, rows[i]);
    const std::int64_t reach_ns = add_saturating(late_ns, margin_ns_);
    const bool is_last_elsewhere =
        std::all_of(hosts_.begin(), hosts_.end(), [&](const HostRows& host) {
          return &host == &own || !own.is_known || !host.is_known || reach_ns >= host.last_ns;
        });
    if (late_ns < own.last_ns || !is_last_elsewhere) {
      continue;
    }
    PossibleCharge possible;
    possible.charged = i;
    const std::int64_t own_sum_ns = subtract_saturating(own.sum_ns, early(rows, rows[i]));
    possible.most_in_host_ns =
        positive(subtract_saturating(multiply_saturating(own.ranks - 1, late_ns), own_sum_ns));
    std::int64_t elsewhere_ns = subtract_saturating(wall_ns, own.wall_ns);
    if (own.is_known) {
      const std::int64_t at_known_ns =
          subtract_saturating(multiply_saturating(ranks - own.ranks, reach_ns),
                              subtract_saturating(sum_ns, own.sum_ns));
      elsewhere_ns = std::min(elsewhere_ns, add_saturating(positive(at_known_ns), unknown_wall_ns));
    }
    possible.most_ns = add_saturating(possible.most_in_host_ns, elsewhere_ns);
    found_.possibly.push_back(possible);
  }
}

void ChargeFinder::find_from_root(const std::vector<RankTimes>& rows, std::uint32_t root) {
  PossibleCharge possible;
  possible.charged = root;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (i == root) {
      continue;
    }
    const auto behind = facts::arrival_difference(rows[i], rows[root]);
    const std::int64_t wall_ns = rows[i].wall_ns();
    if (behind && rows[i].has_execution) {
      const std::int64_t waited_ns = std::min(behind->least_ns, wall_ns);
      if (waited_ns > 0) {
        found_.surely.push_back({i, root, waited_ns});
      }
    }
    const std::int64_t most_ns = behind ? std::min(positive(behind->most_ns), wall_ns) : wall_ns;
    possible.most_ns = add_saturating(possible.most_ns, most_ns);
    if (rows[i].host == rows[root].host) {
      possible.most_in_host_ns = add_saturating(possible.most_in_host_ns, most_ns);
    }
    possible.mirrored_ns = add_saturating(
        possible.mirrored_ns,
        behind ? positive(subtract_saturating(0, behind->least_ns)) : rows[root].wall_ns());
  }
  found_.possibly.push_back(possible);
}

// Of a root that needs all others, and of sends and receives.
void ChargeFinder::find_by_facts(const std::vector<RankTimes>& rows,
                                 const facts::FlowOfOperation& flow) {
  most_ns_.assign(rows.size(), 0);
  const auto may_wait = [&](std::uint32_t waiter, std::uint32_t charged) {
    if (waiter == charged) {
      return;
    }
    const auto behind = facts::arrival_difference(rows[waiter], rows[charged]);
    const std::int64_t most_ns =
        behind ? std::min(positive(behind->most_ns), rows[waiter].wait.most_ns)
               : rows[waiter].wait.most_ns;
    most_ns_[charged] = add_saturating(most_ns_[charged], most_ns);
  };
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].waits_for != RankTimes::kNobody && rows[i].wait.least_ns > 0) {
      found_.surely.push_back({i, rows[i].waits_for, rows[i].wait.least_ns});
    }
  }
  for (const facts::Link& link : flow.links) {
    may_wait(link.destination, link.source);
  }
  if (flow.flow == facts::Flow::kToRoot && flow.root != RankTimes::kNobody) {
    const std::uint32_t surely = rows[flow.root].waits_for;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      // Only one that may have come later than whoever surely came.
      const auto later = surely == RankTimes::kNobody || surely == i
                             ? std::optional<facts::Interval>({0, 0})
                             : facts::arrival_difference(rows[surely], rows[i]);
      if (!later || later->most_ns >= 0) {
        may_wait(flow.root, i);
      }
    }
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (most_ns_[i] > 0) {
      found_.possibly.push_back({i, most_ns_[i], 0, 0});
    }
  }
}

}  // namespace ringside::metrics
