// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/charges.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

std::int64_t positive(std::int64_t value) {
  return std::max<std::int64_t>(value, 0);
}

// Returns how long one may have waited for another, and never more than `limit_ns`.
std::int64_t most_wait_ns(const std::vector<RankTimes>& rows, std::uint32_t waiter,
                          std::uint32_t charged, std::int64_t limit_ns) {
  if (waiter == charged) {
    return 0;
  }
  const auto behind = facts::arrival_difference(rows[waiter], rows[charged]);
  return behind ? std::min(positive(behind->most_ns), limit_ns) : limit_ns;
}

std::int64_t add_pair(const std::vector<RankTimes>& rows, std::uint32_t waiter,
                      std::uint32_t charged, std::int64_t limit_ns, std::vector<Charge>& pairs) {
  const std::int64_t most_ns = most_wait_ns(rows, waiter, charged, limit_ns);
  if (most_ns > 0) {
    pairs.push_back({waiter, charged, most_ns});
  }
  return most_ns;
}

}  // namespace

void add_pairs(const std::vector<RankTimes>& rows, const std::vector<PossibleCharge>& possibly,
               std::vector<Charge>& pairs) {
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    for (const PossibleCharge& possible : possibly) {
      add_pair(rows, i, possible.charged, rows[i].most_wall_ns(), pairs);
    }
  }
}

const OperationCharges& ChargeFinder::find(std::size_t operation, facts::Basis basis,
                                           const std::vector<RankTimes>& rows,
                                           const facts::Arrivals& arrivals) {
  clear();
  found_.waits.clear();
  for (const RankTimes& row : rows) {
    found_.waits.push_back(row.wait);
  }
  found_.likeness = Likeness::kNone;
  found_.root = RankTimes::kNobody;
  found_.holds_up_all = false;
  if (rows.size() < 2) {
    return found_;
  }
  const facts::FlowOfOperation flow = facts_.flow_of(operation, rows);
  found_.holds_up_all = flow.flow == facts::Flow::kAll;
  if (basis == facts::Basis::kSome) {
    leave_open(rows);
    return found_;
  }
  const match::Pattern pattern = facts_.matches().operations[operation].pattern;
  switch (flow.flow) {
    case facts::Flow::kAll:
      found_.likeness = Likeness::kAlike;
      add_sure(rows, arrivals.possible);
      add_possible(rows, arrivals.needed);
      break;
    case facts::Flow::kFromRoot:
      found_.likeness = Likeness::kRooted;
      found_.root = flow.root;
      if (flow.root != RankTimes::kNobody) {
        find_from_root(rows, flow.root);
      }
      hold_up(rows);
      break;
    case facts::Flow::kToRoot:
    case facts::Flow::kLinks:
      // Two ranks that exchange messages may be neighbours of a pipeline.
      if (rows.size() > 2 &&
          (pattern == match::Pattern::kRing || pattern == match::Pattern::kAlltoAllv)) {
        found_.likeness = Likeness::kAlike;
      } else if (flow.flow == facts::Flow::kToRoot) {
        found_.likeness = Likeness::kDraining;
        found_.root = flow.root;
      }
      find_by_facts(rows, flow);
      if (flow.flow == facts::Flow::kToRoot) {
        hold_up(rows);
      } else {
        hold_up_by_links(rows, flow.links);
      }
      break;
    case facts::Flow::kUnknown:
      break;
  }
  return found_;
}

void ChargeFinder::clear() {
  found_.surely.clear();
  found_.of_host.clear();
  found_.possibly.clear();
  found_.behind.clear();
  found_.pairs.clear();
  found_.has_pairs = true;
  found_.are_pairs_left_out = false;
}

// Some ranks ran it, and of others only the calls are known: any of them may have come last. Those
// that ran it ended after the last had come, so no other one waited beyond the first of these ends.
void ChargeFinder::leave_open(const std::vector<RankTimes>& rows) {
  found_.has_pairs = false;
  const RankTimes* first = nullptr;
  for (const RankTimes& row : rows) {
    first = row.has_execution && (first == nullptr || row.end_ns < first->end_ns) ? &row : first;
  }
  TimeSum all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RankTimes& row = rows[i];
    std::int64_t most_ns = row.most_wall_ns();
    if (!row.has_execution) {
      const std::int64_t late_ns = add_saturating(first->error.early_ns, row.error.late_ns);
      most_ns =
          positive(add_saturating(subtract_saturating(first->end_ns, row.arrival_ns),
                                  add_saturating(facts::clock_error_ns(row, *first), late_ns)));
    }
    found_.waits[i] = {0, most_ns};
    all.add(most_ns);
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::int64_t most_ns = all.without(found_.waits[i].most_ns);
    found_.possibly.push_back({i, most_ns, most_ns, 0});
  }
}

// A rank may be held up until any other one has come. That one may have passed data on, or not yet
// have taken what lay in buffers.
void ChargeFinder::hold_up(const std::vector<RankTimes>& rows) {
  host_waits_.set(rows, facts_.alignment().hosts().size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const HostWaits::Most most = host_waits_.until(rows[i]);
    found_.behind.push_back({i, most.all_ns, most.in_host_ns, 0});
  }
  found_.pairs.clear();
  found_.has_pairs = rows.size() * rows.size() <= kMostPairsOfAll;
  for (std::uint32_t i = 0; i < rows.size() && found_.has_pairs; ++i) {
    for (std::uint32_t k = 0; k < rows.size(); ++k) {
      add_pair(rows, i, k, rows[i].wait.most_ns, found_.pairs);
    }
  }
}

// A rank that sends may be held up until the one has come that receives.
void ChargeFinder::hold_up_by_links(const std::vector<RankTimes>& rows,
                                    const std::vector<facts::Link>& links) {
  for (const facts::Link& link : links) {
    add_pair(rows, link.source, link.destination, rows[link.source].wait.most_ns, found_.pairs);
  }
  // Two ranks may send to each other: one waits for the other once.
  const auto order = [](const Charge& a, const Charge& b) {
    return std::tie(a.waiter, a.charged, b.waited_ns) < std::tie(b.waiter, b.charged, a.waited_ns);
  };
  std::sort(found_.pairs.begin(), found_.pairs.end(), order);
  found_.pairs.erase(std::unique(found_.pairs.begin(), found_.pairs.end(),
                                 [](const Charge& a, const Charge& b) {
                                   return a.waiter == b.waiter && a.charged == b.charged;
                                 }),
                     found_.pairs.end());
  std::vector<PossibleCharge> of_row(rows.size());
  for (const Charge& pair : found_.pairs) {
    PossibleCharge& one = of_row[pair.charged];
    one.charged = pair.charged;
    one.most_ns = add_saturating(one.most_ns, pair.waited_ns);
    if (rows[pair.waiter].host == rows[pair.charged].host) {
      one.most_in_host_ns = add_saturating(one.most_in_host_ns, pair.waited_ns);
    }
  }
  std::copy_if(of_row.begin(), of_row.end(), std::back_inserter(found_.behind),
               [](const PossibleCharge& one) { return one.most_ns > 0; });
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
    if (found_.waits[i].least_ns > 0 || needed.seen_from(rows, i).time_ns > rows[i].latest_ns()) {
      continue;
    }
    const HostWaits::Most most = host_waits_.until(rows[i]);
    found_.possibly.push_back({i, most.all_ns, most.in_host_ns});
  }
  const bool are_few = rows.size() * found_.possibly.size() <= kMostPairs;
  found_.has_pairs = needs_pairs_ && are_few;
  found_.are_pairs_left_out = !needs_pairs_ && are_few;
  if (found_.has_pairs) {
    add_pairs(rows, found_.possibly, found_.pairs);
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
    if (behind && rows[i].has_execution) {
      const std::int64_t waited_ns = std::min(behind->least_ns, rows[i].wall_ns());
      if (waited_ns > 0) {
        found_.surely.push_back({i, root, waited_ns});
      }
    }
    const std::int64_t most_ns = most_wait_ns(rows, i, root, rows[i].most_wall_ns());
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
  most_in_host_ns_.assign(rows.size(), 0);
  const auto may_wait = [&](std::uint32_t waiter, std::uint32_t charged) {
    const std::int64_t most_ns =
        add_pair(rows, waiter, charged, rows[waiter].wait.most_ns, found_.pairs);
    most_ns_[charged] = add_saturating(most_ns_[charged], most_ns);
    if (rows[waiter].host == rows[charged].host) {
      most_in_host_ns_[charged] = add_saturating(most_in_host_ns_[charged], most_ns);
    }
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
      found_.possibly.push_back({i, most_ns_[i], most_in_host_ns_[i], 0});
    }
  }
}

}  // namespace ringside::metrics
