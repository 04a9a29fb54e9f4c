// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/slow_ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ringside::replay {
namespace {

// The ranks that are replayed, of those that wait least.
constexpr std::size_t kCandidates = 3;
// The smallest group that costs this part of what the largest does is the one to name.
constexpr double kMostOfIt = 0.75;
// The estimates of own times that cannot be seen are about so wrong.
constexpr double kEstimateError = 0.15;
// An iteration is slow if it costs this part of what one costs on average.
constexpr double kSlowPart = 0.25;

std::vector<std::uint32_t> by_waiting(const Job& job) {
  std::vector<std::int64_t> waited_ns(job.ranks.size());
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const JobRank& one = job.ranks[rank];
    for (std::uint32_t i = 0; i < one.kernel_count; ++i) {
      waited_ns[rank] += job.waited_ns(one.first_kernel + i);
    }
  }
  std::vector<std::uint32_t> order(job.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return waited_ns[a] < waited_ns[b]; });
  return order;
}

void describe(Slow& slow, const WhatIfAnswer& answer, double infidelity) {
  const std::vector<double>& saved = answer.saved_by_iteration;
  const double error = kEstimateError * answer.saved + infidelity;
  slow.cost = {answer.saved, std::max(answer.saved - error, 0.0),
               std::min(answer.saved + error, 1.0)};
  slow.iterations = static_cast<std::uint32_t>(saved.size());
  if (saved.empty()) {
    return;
  }
  const auto count = static_cast<double>(saved.size());
  const double mean = std::accumulate(saved.begin(), saved.end(), 0.0) / count;
  for (std::uint32_t i = 0; i < saved.size(); ++i) {
    if (saved[i] > kSlowPart * mean) {
      slow.first_slow = slow.slow_iterations++ == 0 ? i : slow.first_slow;
    }
  }
}

}  // namespace

std::optional<Slow> find_slow(const Job& job, WhatIf& what_if) {
  if (!what_if.is_possible() || job.ranks.size() < 2) {
    return std::nullopt;
  }
  const std::vector<std::uint32_t> order = by_waiting(job);
  std::vector<Slow> found;
  double most = 0;
  const auto add = [&](Group group, std::vector<std::uint32_t> ranks) {
    if (ranks.size() == job.ranks.size()) {
      return;
    }
    Slow slow;
    slow.group = group;
    const WhatIfAnswer answer = what_if.ask({.like_others = ranks}, ranks.front());
    slow.ranks = std::move(ranks);
    describe(slow, answer, std::abs(1 - what_if.fidelity()));
    most = std::max(most, slow.cost.best);
    found.push_back(std::move(slow));
  };
  for (std::size_t i = 0; i < std::min(kCandidates, order.size()); ++i) {
    add(Group::kRank, {order[i]});
  }
  std::vector<std::uint32_t> host;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (job.ranks[rank].host == job.ranks[order.front()].host) {
      host.push_back(rank);
    }
  }
  if (host.size() > 1) {
    add(Group::kHost, host);
  }
  const Role& role = what_if.places().roles()[what_if.places().role_of(order.front())];
  if (role.ranks.size() > 1) {
    add(Group::kRole, role.ranks);
  }
  std::erase_if(found, [&](const Slow& one) { return one.cost.best < kMostOfIt * most; });
  if (most < kLeastCost) {
    return std::nullopt;
  }
  // Ranks come before groups; of ranks the one that costs most.
  return *std::min_element(found.begin(), found.end(), [](const Slow& a, const Slow& b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() < b.ranks.size()
                                            : a.cost.best > b.cost.best;
  });
}

}  // namespace ringside::replay
