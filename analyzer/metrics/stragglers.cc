// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/stragglers.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/metrics/late_costs.h"
#include "analyzer/metrics/late_judge.h"

namespace ringside::metrics {
namespace {

// A single late arrival is told if it costs so much, and so much more than any of another rank.
constexpr double kLeastShareOnce = 0.02;
constexpr std::int64_t kTimesOthers = 30;

void find_median(Suspect& one) {
  std::vector<std::int64_t> margins_ns;
  for (const LateEvent& event : one.events) {
    margins_ns.push_back(event.margin_ns);
  }
  if (!margins_ns.empty()) {
    const auto middle = margins_ns.begin() + static_cast<std::ptrdiff_t>(margins_ns.size() / 2);
    std::nth_element(margins_ns.begin(), middle, margins_ns.end());
    one.facts.median_margin_ns = *middle;
  }
}

// Where nobody else comes last, as where only the root of Broadcasts surely holds others up, a
// single arrival is compared with the others of the same rank: returns what the greatest of these
// cost.
std::int64_t most_cost_of_own(const Suspect& one, std::uint64_t last_of_all) {
  constexpr std::uint64_t kOfAll = 10;  // it is not the last in one of so many, at most
  if ((last_of_all - one.facts.last) * kOfAll > last_of_all) {
    return 0;
  }
  std::int64_t most_ns = 0;
  std::int64_t second_ns = 0;
  for (const LateEvent& event : one.events) {
    second_ns = std::max(second_ns, std::min(most_ns, event.cost_ns));
    most_ns = std::max(most_ns, event.cost_ns);
  }
  return second_ns;
}

std::vector<Lateness> finish(std::vector<Suspect> candidates) {
  std::vector<Lateness> finished;
  for (Suspect& candidate : candidates) {
    if (candidate.facts.took_part > 0) {
      finished.push_back(std::move(candidate.facts));
    }
  }
  std::stable_sort(finished.begin(), finished.end(), [](const Lateness& a, const Lateness& b) {
    return std::tie(a.cost_ns, a.cost_most_ns) > std::tie(b.cost_ns, b.cost_most_ns);
  });
  return finished;
}

// Few great arrivals fall on one of `count` by chance. Then what it costs beside them must be worth
// a warning: they have no part in what is no chance.
bool is_late_beside_events(const Stragglers& counts, const Lateness& one, std::size_t count) {
  if (one.is_late_beside_great || are_no_chance(one.times, count)) {
    return true;
  }
  Lateness rest = one;
  rest.cost_ns -= std::min(rest.cost_ns, one.times.cost_ns);
  return one.times.times > 1 && counts.share_of(rest) > kOpenShare;
}

void describe(LateCosts& costs) {
  for (std::vector<Suspect>* const candidates : {&costs.ranks, &costs.hosts}) {
    for (Suspect& one : *candidates) {
      if (one.facts.is_straggler) {
        one.facts.times = describe_events(one.events, one.facts.took_part);
        one.facts.is_straggler = is_late_beside_events(costs.counts, one.facts, candidates->size());
      }
      find_median(one);
    }
  }
  std::int64_t most_ns = 0;
  std::int64_t second_ns = 0;
  std::uint64_t last_of_all = 0;
  for (const Suspect& rank : costs.ranks) {
    last_of_all += rank.facts.last;
    second_ns = std::max(second_ns, std::min(most_ns, rank.facts.most_cost_ns));
    most_ns = std::max(most_ns, rank.facts.most_cost_ns);
  }
  for (Suspect& rank : costs.ranks) {
    Lateness& facts = rank.facts;
    const std::int64_t others_ns = std::max(facts.most_cost_ns == most_ns ? second_ns : most_ns,
                                            most_cost_of_own(rank, last_of_all));
    facts.was_late_once = !facts.is_straggler &&
                          costs.counts.share(facts.most_cost_ns) >= kLeastShareOnce &&
                          facts.most_cost_ns / kTimesOthers >= others_ns;
  }
}

}  // namespace

std::vector<const Lateness*> Stragglers::find_open(double limit) const {
  // The cost of a late rank is part of its host's, and the other way round.
  std::set<std::string> late_hosts;
  for (const std::vector<Lateness>* const found : {&ranks, &hosts}) {
    for (const Lateness& one : *found) {
      if (one.is_straggler) {
        late_hosts.insert(one.host);
      }
    }
  }
  std::vector<const Lateness*> open;
  for (const std::vector<Lateness>* const found : {&ranks, &hosts}) {
    for (const Lateness& one : *found) {
      const std::int64_t excess_ns = one.cost_most_ns - std::min(one.expected_ns, one.cost_most_ns);
      if (!late_hosts.contains(one.host) && share(excess_ns) > limit) {
        open.push_back(&one);
      }
    }
    if (!open.empty()) {
      break;
    }
  }
  // A small sure cost says less than a large possible one.
  const auto surely = std::stable_partition(
      open.begin(), open.end(), [&](const Lateness* one) { return share_of(*one) > limit; });
  std::stable_sort(surely, open.end(), [](const Lateness* a, const Lateness* b) {
    return a->cost_most_ns > b->cost_most_ns;
  });
  return open;
}

Stragglers find_stragglers(const facts::Facts& facts, RowsBy by, const facts::Fold& also) {
  LateCosts costs(facts, by);
  costs.add_all(also);
  return judge_costs(std::move(costs));
}

Stragglers judge_costs(LateCosts&& costs) {
  costs.finish();
  LateJudge(costs).judge();
  describe(costs);
  Stragglers found = std::move(costs.counts);
  found.ranks = finish(std::move(costs.ranks));
  found.hosts = finish(std::move(costs.hosts));
  return found;
}

}  // namespace ringside::metrics
