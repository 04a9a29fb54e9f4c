// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/late_judge.h"

#include <algorithm>

namespace ringside::metrics {

LateJudge::LateJudge(LateCosts& costs)
    : costs_(costs),
      ranks_(costs.ranks),
      hosts_(costs.hosts),
      is_found_(ranks_.size()),
      is_late_in_host_(ranks_.size()) {}

bool LateJudge::is_enough(const Lateness& facts) const {
  return costs_.counts.share_of(facts) >= kLeastShare;
}

// In so many of the jobs in which all are alike somebody is called late, at most: one in a hundred
// with all tests together.
double LateJudge::level_of(Among among) const {
  constexpr double kRanks = 0.006;
  constexpr double kRanksOfHost = 0.001;
  constexpr double kHosts = 0.002;
  const double level = among == Among::kRanks   ? kRanks
                       : among == Among::kHosts ? kHosts
                                                : kRanksOfHost;
  return level / std::max(costs_.blocks().families(), 1U);
}

// Tests one after the other: each that is found is taken out, so that it does not hide the next.
void LateJudge::judge() {
  const std::uint32_t families = costs_.blocks().families();
  bool is_more = true;
  while (is_more) {
    is_more = false;
    for (const Among among : {Among::kRanksOfHost, Among::kRanks}) {
      for (std::uint32_t family = 0; family < families; ++family) {
        while (test_ranks(family, among)) {
          is_more = true;
        }
      }
    }
  }
  const std::vector<std::uint32_t> members = take_back_members();
  for (std::uint32_t family = 0; family < families; ++family) {
    while (test_hosts(family)) {
    }
  }
  for (const std::uint32_t rank : members) {
    ranks_[rank].facts.is_straggler = !hosts_[ranks_[rank].host].facts.is_straggler;
  }
}

// Tests the charges against chance, and against noise that lasts: a late rank must be beyond both.
// A second late one hides the first among the others, so it may have to be left out of these.
ExchangeResult LateJudge::test(std::uint32_t family, Among among,
                               const std::vector<bool>& is_eligible) const {
  const double level = level_of(among);
  const ChargeBlocks& blocks = costs_.blocks();
  ExchangeResult result = test_exchange(blocks.input(family, among, is_found_), is_eligible, level);
  if (result.subjects.empty() || result.chance > level) {
    return result;
  }
  // Noise is none of the models exactly, so it must be beyond half of the level.
  constexpr double kOfNoise = 0.5;
  const auto noise_of = [&](const std::vector<std::uint32_t>& suspects) {
    return blocks.chance_of_noise(family, among, suspects, is_found_) / kOfNoise /
           (suspects.size() > 1 ? kLevelOfTwo : 1);
  };
  double noise = noise_of(result.subjects);
  if (noise > level && result.second) {
    noise = std::min(noise, noise_of({result.subjects.front(), *result.second}));
  }
  result.chance = std::min(1.0, std::max(result.chance, noise));
  return result;
}

bool LateJudge::test_ranks(std::uint32_t family, Among among) {
  std::vector<bool> is_eligible(ranks_.size());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    is_eligible[i] = !is_found_[i] && is_enough(ranks_[i].facts);
  }
  if (std::none_of(is_eligible.begin(), is_eligible.end(), [](bool one) { return one; })) {
    return false;
  }
  const double level = level_of(among);
  const ExchangeResult result = test(family, among, is_eligible);
  for (const std::uint32_t rank : result.subjects) {
    Lateness& facts = ranks_[rank].facts;
    facts.chance = std::min(result.chance, facts.chance.value_or(1));
    if (result.chance <= level) {
      facts.is_straggler = true;
      is_late_in_host_[rank] = among == Among::kRanksOfHost;
      is_found_[rank] = true;
    }
  }
  return !result.subjects.empty() && result.chance <= level;
}

// Ranks that are not late beside the others of their host, and none of which costs most of what the
// host does. Then the host is late, if the test of hosts agrees.
std::vector<std::uint32_t> LateJudge::take_back_members() {
  std::vector<std::uint32_t> members;
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    std::vector<std::uint32_t> late;
    std::int64_t most_ns = 0;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].host == host && is_found_[i] && !is_late_in_host_[i]) {
        late.push_back(i);
        most_ns = std::max(most_ns, ranks_[i].cost_elsewhere_ns);
      }
    }
    if (most_ns > hosts_[host].facts.cost_ns / 3 * 2) {
      continue;
    }
    for (const std::uint32_t rank : late) {
      ranks_[rank].facts.is_straggler = false;
      is_found_[rank] = false;
    }
    members.insert(members.end(), late.begin(), late.end());
  }
  return members;
}

// A host is late beside its ranks that are, if the others of it still cost enough.
bool LateJudge::test_hosts(std::uint32_t family) {
  std::vector<bool> is_eligible(hosts_.size());
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    Lateness rest = hosts_[host].facts;
    for (const Suspect& rank : ranks_) {
      if (rank.host == host && rank.facts.is_straggler) {
        rest.cost_ns -= std::min(rest.cost_ns, rank.cost_elsewhere_ns);
      }
    }
    is_eligible[host] = !rest.is_straggler && is_enough(rest);
  }
  const double level = level_of(Among::kHosts);
  const ExchangeResult result = test(family, Among::kHosts, is_eligible);
  for (const std::uint32_t host : result.subjects) {
    Lateness& facts = hosts_[host].facts;
    facts.chance = std::min(result.chance, facts.chance.value_or(1));
    facts.is_straggler = result.chance <= level;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      is_found_[i] = is_found_[i] || (facts.is_straggler && ranks_[i].host == host);
    }
  }
  return !result.subjects.empty() && result.chance <= level;
}

}  // namespace ringside::metrics
