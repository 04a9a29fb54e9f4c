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
// with all tests together. `has_together`: ranks are tested in that manner as well.
double LateJudge::level_of(Among among, Manner manner, bool has_together) const {
  constexpr double kRanks = 0.005;
  constexpr double kTogether = 0.004;  // of that
  constexpr double kCapped = 0.0015;
  constexpr double kRoots = 0.0005;
  constexpr double kRanksOfHost = 0.001;
  constexpr double kHosts = 0.002;
  const double level = among == Among::kHosts         ? kHosts
                       : among == Among::kRanksOfHost ? kRanksOfHost
                       : manner == Manner::kCapped    ? kCapped
                       : manner == Manner::kRoots     ? kRoots
                       : manner == Manner::kTogether  ? kTogether
                       : has_together                 ? kRanks - kTogether
                                                      : kRanks;
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
ExchangeResult LateJudge::test(std::uint32_t family, Among among, Manner manner, double level,
                               const std::vector<bool>& is_eligible) const {
  const ChargeBlocks& blocks = costs_.blocks();
  ExchangeResult result =
      test_exchange(blocks.input(family, among, is_found_, manner), is_eligible, level);
  if (result.subjects.empty() || result.chance > level) {
    return result;
  }
  // Noise is none of the models exactly, so it must be beyond half of the level.
  constexpr double kOfNoise = 0.5;
  const auto noise_of = [&](const std::vector<std::uint32_t>& suspects) {
    return blocks.chance_of_noise(family, among, suspects, is_found_, manner) / kOfNoise /
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
  if (among != Among::kRanks) {
    const double level = level_of(among, Manner::kPlain, false);
    return note(test(family, among, Manner::kPlain, level, is_eligible), level, among,
                Manner::kPlain);
  }
  const bool has_together = costs_.blocks().has_together(family, is_found_);
  const double level = level_of(among, Manner::kPlain, has_together);
  const ExchangeResult alone = test(family, among, Manner::kPlain, level, is_eligible);
  if (note(alone, level, among, Manner::kPlain)) {
    // A rank that is found by few great delays may be late without them, too.
    const bool is_few =
        std::any_of(alone.subjects.begin(), alone.subjects.end(), [&](std::uint32_t rank) {
          return !are_no_chance(describe_events(ranks_[rank].events, ranks_[rank].facts.took_part),
                                ranks_.size());
        });
    for (const std::uint32_t rank : alone.subjects) {
      is_found_[rank] = false;
    }
    if (is_few) {
      test_capped(family, is_eligible);
    }
    for (const std::uint32_t rank : alone.subjects) {
      is_found_[rank] = true;
    }
    return true;
  }
  return (has_together && test_together(family, alone, is_eligible)) ||
         test_capped(family, is_eligible) || test_roots(family, is_eligible);
}

// Notes the chance, and those that are late. Returns whether they are.
bool LateJudge::note(const ExchangeResult& result, double level, Among among, Manner manner) {
  if (result.subjects.empty()) {
    return false;
  }
  for (const std::uint32_t rank : result.subjects) {
    Lateness& facts = ranks_[rank].facts;
    facts.chance = std::min(result.chance, facts.chance.value_or(1));
    if (result.chance <= level) {
      facts.is_straggler = true;
      facts.is_late_beside_great = facts.is_late_beside_great || manner == Manner::kCapped;
      is_late_in_host_[rank] = among == Among::kRanksOfHost;
      is_found_[rank] = true;
    }
  }
  return result.chance <= level;
}

// In communicators of two or four ranks a few late arrivals are of one rank by chance. If there are
// several whose ranks are alike, it is not the same rank of all of them. But it must also stand out
// in its own communicator: another one may only be less noisy.
bool LateJudge::test_together(std::uint32_t family, const ExchangeResult& alone,
                              const std::vector<bool>& is_eligible) {
  constexpr double kMaybe = 0.05;
  if (alone.subjects.empty() || alone.chance > kMaybe) {
    return false;
  }
  const double level = level_of(Among::kRanks, Manner::kTogether, true);
  const ExchangeResult result = test(family, Among::kRanks, Manner::kTogether, level, is_eligible);
  return result.subjects == alone.subjects && result.chance <= level &&
         note(result, level, Among::kRanks, Manner::kTogether);
}

// A few great delays, which any rank may have by chance, hide what a rank costs all along. If they
// count no more than lesser ones, that shows; it must be worth a warning by itself then.
bool LateJudge::test_capped(std::uint32_t family, const std::vector<bool>& is_eligible) {
  const double level = level_of(Among::kRanks, Manner::kCapped, false);
  const ExchangeResult result = test(family, Among::kRanks, Manner::kCapped, level, is_eligible);
  return result.chance <= level &&
         costs_.counts.share(static_cast<std::int64_t>(result.excess)) >= kLeastShare &&
         note(result, level, Among::kRanks, Manner::kCapped);
}

// A rank that is often a root waits less or more often than the others, and so comes later or
// sooner to what follows. Its own times show whether it is late.
bool LateJudge::test_roots(std::uint32_t family, std::vector<bool> is_eligible) {
  const std::vector<bool> roots = costs_.blocks().find_roots(family, is_found_);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    is_eligible[i] = is_eligible[i] && roots[i];
    ranks_[i].facts.is_frequent_root = ranks_[i].facts.is_frequent_root || roots[i];
  }
  const double level = level_of(Among::kRanks, Manner::kRoots, false);
  const ExchangeResult result = test(family, Among::kRanks, Manner::kRoots, level, is_eligible);
  return result.chance <= level &&
         costs_.counts.share(static_cast<std::int64_t>(result.excess)) >= kLeastShare &&
         note(result, level, Among::kRanks, Manner::kRoots);
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
  const double level = level_of(Among::kHosts, Manner::kPlain, false);
  const ExchangeResult result = test(family, Among::kHosts, Manner::kPlain, level, is_eligible);
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
