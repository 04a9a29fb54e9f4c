// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/charges.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

std::int64_t positive(std::int64_t value) {
  return std::max<std::int64_t>(value, 0);
}

}  // namespace

const OperationCharges& ChargeFinder::find(std::size_t operation, facts::Basis basis,
                                           const std::vector<RankTimes>& rows,
                                           const facts::Arrivals* arrivals) {
  clear();
  found_.waited_ns.clear();
  for (const RankTimes& row : rows) {
    found_.waited_ns.push_back(row.wait.least_ns);
  }
  found_.likeness = Likeness::kNone;
  found_.root = RankTimes::kNobody;
  if (rows.size() < 2) {
    return found_;
  }
  const facts::FlowOfOperation flow = facts_.flow_of(operation, rows);
  const match::Pattern pattern = facts_.matches().operations[operation].pattern;
  switch (flow.flow) {
    case facts::Flow::kAll:
      found_.likeness = Likeness::kAlike;
      if (arrivals == nullptr) {
        find_waits(rows);
        arrivals = &arrivals_;
      }
      add_sure(rows, arrivals->possible);
      add_possible(rows, arrivals->needed);
      break;
    case facts::Flow::kFromRoot:
      found_.likeness = Likeness::kRooted;
      found_.root = flow.root;
      if (flow.root != RankTimes::kNobody) {
        find_from_root(rows, flow.root);
      }
      break;
    case facts::Flow::kToRoot:
    case facts::Flow::kLinks:
      if (pattern == match::Pattern::kRing || pattern == match::Pattern::kAlltoAllv) {
        found_.likeness = Likeness::kAlike;
      } else if (flow.flow == facts::Flow::kToRoot) {
        found_.likeness = Likeness::kDraining;
        found_.root = flow.root;
      }
      find_by_facts(rows, flow);
      break;
    case facts::Flow::kUnknown:
      break;
  }
  if (basis == facts::Basis::kSome) {
    leave_open(rows);
  }
  return found_;
}

void ChargeFinder::clear() {
  found_.surely.clear();
  found_.of_host.clear();
  found_.possibly.clear();
  found_.pairs.clear();
  found_.has_pairs = true;
}

// Some ranks ran it, and of others only the calls are known: any of them may have come last, as
// long after its call as the others were there.
void ChargeFinder::leave_open(const std::vector<RankTimes>& rows) {
  clear();
  found_.has_pairs = false;
  found_.waited_ns.assign(rows.size(), 0);
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
void ChargeFinder::find_waits(const std::vector<RankTimes>& rows) {
  arrivals_.clear();
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    arrivals_.need(rows, i);
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const facts::Latest::Moment until = arrivals_.needed.seen_from(rows, i);
    found_.waited_ns[i] =
        until.time_ns == facts::Latest::kNever
            ? 0
            : std::clamp<std::int64_t>(subtract_saturating(until.time_ns, rows[i].latest_ns()), 0,
                                       rows[i].wall_ns());
  }
}

// Others are charged to a rank only if no other one may have come later still: then its coming
// sooner would not have helped anybody.
void ChargeFinder::add_sure(const std::vector<RankTimes>& rows, const facts::Latest& possible) {
  const auto last =
      static_cast<std::uint32_t>(std::max_element(rows.begin(), rows.end(),
                                                  [](const RankTimes& a, const RankTimes& b) {
                                                    return a.arrival_ns < b.arrival_ns;
                                                  }) -
                                 rows.begin());
  const bool is_rank = possible.seen_from(rows, last).time_ns <= rows[last].earliest_ns();
  const bool is_host = possible.elsewhere_from(rows, last).time_ns <= rows[last].earliest_ns();
  for (std::uint32_t i = 0; i < rows.size() && is_host; ++i) {
    const auto behind = facts::arrival_difference(rows[i], rows[last]);
    const std::int64_t waited_ns = behind ? std::min(behind->least_ns, rows[i].wall_ns()) : 0;
    if (i != last && waited_ns > 0 && (is_rank || rows[i].host != rows[last].host)) {
      (is_rank ? found_.surely : found_.of_host).push_back({i, last, waited_ns});
    }
  }
}

// Any rank that may have been the last may have made all others wait for it.
void ChargeFinder::add_possible(const std::vector<RankTimes>& rows, const facts::Latest& needed) {
  host_waits_.set(rows, facts_.alignment().hosts().size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (found_.waited_ns[i] > 0 || needed.seen_from(rows, i).time_ns > rows[i].latest_ns()) {
      continue;
    }
    const HostWaits::Most most = host_waits_.until(rows[i]);
    found_.possibly.push_back({i, most.all_ns, most.in_host_ns});
  }
  found_.has_pairs = needs_pairs_ && rows.size() * found_.possibly.size() <= kMostPairs;
  for (std::uint32_t i = 0; i < rows.size() && found_.has_pairs; ++i) {
    for (const PossibleCharge& possible : found_.possibly) {
      add_pair(rows, i, possible.charged, rows[i].wall_ns());
    }
  }
}

// Returns how long one may have waited for another, and never more than `limit_ns`.
std::int64_t ChargeFinder::add_pair(const std::vector<RankTimes>& rows, std::uint32_t waiter,
                                    std::uint32_t charged, std::int64_t limit_ns) {
  if (waiter == charged) {
    return 0;
  }
  const auto behind = facts::arrival_difference(rows[waiter], rows[charged]);
  const std::int64_t most_ns = behind ? std::min(positive(behind->most_ns), limit_ns) : limit_ns;
  if (most_ns > 0) {
    found_.pairs.push_back({waiter, charged, most_ns});
  }
  return most_ns;
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
    const std::int64_t most_ns = add_pair(rows, i, root, wall_ns);
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

// Finds the charges of a root that needs all others, and of sends and receives.
void ChargeFinder::find_by_facts(const std::vector<RankTimes>& rows,
                                 const facts::FlowOfOperation& flow) {
  most_ns_.assign(rows.size(), 0);
  const auto may_wait = [&](std::uint32_t waiter, std::uint32_t charged) {
    const std::int64_t most_ns = add_pair(rows, waiter, charged, rows[waiter].wait.most_ns);
    most_ns_[charged] = add_saturating(most_ns_[charged], most_ns);
  };
  const auto is_surely_last = [&](std::uint32_t waiter, std::uint32_t source) {
    const std::uint32_t last = rows[waiter].waits_for;
    if (source == last || source == waiter) {
      return true;
    }
    const auto behind = facts::arrival_difference(rows[source], rows[last]);
    return behind && behind->least_ns >= 0;
  };
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].waits_for == RankTimes::kNobody || rows[i].wait.least_ns <= 0) {
      continue;
    }
    bool is_sure = true;
    for (std::uint32_t k = 0; k < rows.size() && flow.flow == facts::Flow::kToRoot; ++k) {
      is_sure = is_sure && is_surely_last(i, k);
    }
    for (const facts::Link& link : flow.links) {
      is_sure = is_sure && (link.destination != i || is_surely_last(i, link.source));
    }
    if (is_sure) {
      found_.surely.push_back({i, rows[i].waits_for, rows[i].wait.least_ns});
    }
  }
  for (const facts::Link& link : flow.links) {
    may_wait(link.destination, link.source);
  }
  if (flow.flow == facts::Flow::kToRoot && flow.root != RankTimes::kNobody) {
    const std::uint32_t surely = rows[flow.root].waits_for;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      // Only a rank that may have come later than the one that was surely waited for.
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
  std::stable_sort(found_.pairs.begin(), found_.pairs.end(),
                   [](const Charge& a, const Charge& b) { return a.waiter < b.waiter; });
}

}  // namespace ringside::metrics
