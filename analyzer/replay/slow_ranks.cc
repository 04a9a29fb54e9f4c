// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/slow_ranks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "analyzer/metrics/lasting_noise.h"
#include "analyzer/metrics/significance.h"
#include "analyzer/model/nth_value.h"

namespace ringside::replay {
namespace {

// The ranks that are replayed, of those that wait least: as many as take a moment.
constexpr std::size_t kLeastCandidates = 3;
constexpr std::size_t kMostCandidates = 64;
constexpr std::size_t kKernelsReplayed = 4'000'000;
// The smallest group that costs this part of what the largest does is the one to name.
constexpr double kMostOfIt = 2.0 / 3;
// The estimates of own times that cannot be seen are about so wrong.
constexpr double kEstimateError = 0.15;
// An iteration is slow if it costs this part of what one costs on average.
constexpr double kSlowPart = 0.25;
// Who waits least may be chance up to this probability, by so many parts of the run: noise that
// lasts is the same noise within each.
constexpr double kMostChance = 0.003;
constexpr std::uint32_t kBlocks = 24;
constexpr std::uint32_t kMostBlocks = 1000;  // of stalls
// How rare long stalls are by chance: their tail falls with this power.
constexpr double kTailPower = 3;
constexpr double kSameWork_ns = 8'000;
// Work that moves from rank to rank is worth a word from here on, if it is so much in whole
// iterations, and there are so many of them. Noise of 5 % in each kernel of 128 ranks is 5 %.
constexpr double kLeastImbalance = 0.05;
constexpr double kLeastOfIterations = 0.06;
constexpr std::uint32_t kIterationsOfImbalance = 8;

void describe(Slow& slow, const WhatIfAnswer& answer, double infidelity) {
  const std::vector<double>& saved = answer.saved_by_iteration;
  const double error_down = kEstimateError * answer.saved_least + infidelity;
  const double error_up = kEstimateError * answer.saved_most + infidelity;
  slow.cost = {answer.saved, std::max(answer.saved_least - error_down, 0.0),
               std::min(answer.saved_most + error_up, 1.0)};
  slow.iterations = static_cast<std::uint32_t>(saved.size());
  const double mean = std::accumulate(saved.begin(), saved.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(saved.size(), 1));
  for (std::uint32_t i = 0; i < saved.size(); ++i) {
    if (saved[i] > kSlowPart * mean) {
      slow.first_slow = slow.slow_iterations++ == 0 ? i : slow.first_slow;
    }
  }
}

// Times of each rank's kernels, by parts of the run: who is late in an iteration is late in all of
// it. Where nothing repeats, each operation is a part.
std::vector<std::vector<double>> by_block(
    const Job& job, const Places& places, std::uint32_t blocks,
    const std::function<std::int64_t(std::uint32_t kernel)>& time_ns) {
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const JobRank& one = job.ranks[rank];
    const std::uint32_t length = places.roles()[places.role_of(rank)].length;
    const std::uint32_t turns = one.kernel_count / length;
    blocks = std::min(blocks, turns > 1 ? turns : one.kernel_count);
  }
  std::vector<std::vector<double>> times_ns;
  for (const JobRank& one : job.ranks) {
    std::vector<double>& own_ns = times_ns.emplace_back(blocks);
    for (std::size_t place = 1; place < one.kernel_count; ++place) {
      own_ns[place * blocks / one.kernel_count] +=
          static_cast<double>(time_ns(one.first_kernel + static_cast<std::uint32_t>(place)));
    }
  }
  return times_ns;
}

// The probability that some ranks wait so little by chance, if all ranks are alike: whoever comes
// last in a block is so by chance, or how much less they wait varies from block to block.
// docs/dev/derivations.md has the equations.
double chance_of(const std::vector<std::vector<double>>& waits_ns,
                 const std::vector<std::uint32_t>& ranks) {
  const auto all = static_cast<double>(waits_ns.size());
  const auto inside = static_cast<double>(ranks.size());
  double sum = 0;
  double sum_of_squares = 0;
  double variance = 0;
  for (std::size_t i = 0; i < waits_ns.front().size(); ++i) {
    double mean = 0;
    double square = 0;
    for (const std::vector<double>& own_ns : waits_ns) {
      mean += own_ns[i] / all;
      square += own_ns[i] * own_ns[i] / all;
    }
    double less = mean;
    for (const std::uint32_t rank : ranks) {
      less -= waits_ns[rank][i] / inside;
    }
    sum += less;
    sum_of_squares += less * less;
    variance += std::max(square - mean * mean, 0.0) / inside * (all - inside) / (all - 1);
  }
  if (!(sum > 0) || !(variance > 0)) {
    return 1;
  }
  const double sets = all / inside;
  const double counting = sum * sum / sum_of_squares;
  const double by_ranks = std::max(sets * std::erfc(sum / std::sqrt(2 * variance)) / 2,
                                   std::pow(std::max(sets, 2.0), 1 - counting));
  const auto blocks = static_cast<double>(std::max<std::size_t>(waits_ns.front().size(), 2));
  const double square = (sum_of_squares - sum * sum / blocks) * blocks / (blocks - 1);
  return std::min(by_ranks,
                  sets * metrics::student_upper_tail(sum / std::sqrt(square), blocks - 1));
}

bool holds(const std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// The probability that whole roles work so much longer than all others by chance.
double chance_of_roles(const Job& job, const WhatIf& what_if,
                       const std::vector<std::uint32_t>& ranks) {
  const std::vector<std::vector<double>> work_ns =
      by_block(job, what_if.places(), kBlocks,
               [&](std::uint32_t kernel) { return what_if.times().own_ns[kernel]; });
  std::vector<double> mean_ns(work_ns.front().size());
  std::vector<std::vector<double>> others_ns;
  for (std::uint32_t rank = 0; rank < work_ns.size(); ++rank) {
    if (!holds(ranks, rank)) {
      others_ns.push_back(work_ns[rank]);
      continue;
    }
    for (std::size_t i = 0; i < mean_ns.size(); ++i) {
      mean_ns[i] += work_ns[rank][i] / static_cast<double>(ranks.size());
    }
  }
  const double others = static_cast<double>(others_ns.size()) / static_cast<double>(ranks.size());
  return others * metrics::chance_of_lasting_noise(mean_ns, std::move(others_ns));
}

// The probability that in one block some ranks, by the least of them, work by so much longer than
// all others by chance: longer than the rank that works least, where there are several roles beyond
// what is usual for each. docs/dev/derivations.md, "Who is named".
double chance_of_stall(const Job& job, const WhatIf& what_if,
                       const std::vector<std::uint32_t>& ranks) {
  const std::vector<std::vector<double>> work_ns =
      by_block(job, what_if.places(), kMostBlocks,
               [&](std::uint32_t kernel) { return what_if.times().own_ns[kernel]; });
  const bool by_other_blocks = what_if.places().roles().size() > 1;
  const std::size_t blocks = work_ns.front().size();
  std::vector<double> least_ns = work_ns.front();
  for (const std::vector<double>& own_ns : work_ns) {
    std::transform(own_ns.begin(), own_ns.end(), least_ns.begin(), least_ns.begin(),
                   [](double one_ns, double other_ns) { return std::min(one_ns, other_ns); });
  }
  std::vector<double> asked_ns(blocks, std::numeric_limits<double>::max());
  std::vector<double> others_ns;
  std::vector<double> excess_ns(blocks);
  for (std::uint32_t rank = 0; rank < work_ns.size(); ++rank) {
    std::transform(work_ns[rank].begin(), work_ns[rank].end(), least_ns.begin(), excess_ns.begin(),
                   std::minus<>());
    std::vector<double> sorted_ns = excess_ns;
    const double usual_ns = by_other_blocks ? model::lower_median(sorted_ns) : 0;
    for (std::size_t i = 0; i < blocks; ++i) {
      const double more_ns = excess_ns[i] - usual_ns;
      if (holds(ranks, rank)) {
        asked_ns[i] = std::min(asked_ns[i], more_ns);
      } else {
        others_ns.push_back(std::max(more_ns, kSameWork_ns));
      }
    }
  }
  const double first_ns = *std::max_element(asked_ns.begin(), asked_ns.end());
  std::copy_if(asked_ns.begin(), asked_ns.end(), std::back_inserter(others_ns),
               [&](double one_ns) { return 0 < one_ns && one_ns < kSlowPart * first_ns; });
  const double second_ns = *std::max_element(others_ns.begin(), others_ns.end());
  const double over =
      (first_ns - second_ns) / std::accumulate(others_ns.begin(), others_ns.end(), 0.0);
  const auto freedom = static_cast<double>(others_ns.size() - blocks);
  return first_ns > second_ns
             ? std::max(std::pow(first_ns / second_ns, -kTailPower), std::pow(1 + over, -freedom))
             : 1;
}

// The cost of work that moves; nothing if it may be noise. Noise of single kernels evens out in an
// iteration, so the longest own time of an iteration is compared with the mean of its role.
std::optional<Cost> find_imbalance(const Job& job, WhatIf& what_if, std::uint32_t rank) {
  std::vector<double> excess_ns;  // by iteration, of the role where it is longest
  for (const Role& role : what_if.places().roles()) {
    const std::vector<std::vector<double>> work_ns = what_if.work_of(role);
    excess_ns.resize(std::max(excess_ns.size(), work_ns.front().size()));
    for (std::size_t i = 0; i < work_ns.front().size(); ++i) {
      double mean_ns = 0;
      double most_ns = 0;
      for (const std::vector<double>& own_ns : work_ns) {
        mean_ns += own_ns[i] / static_cast<double>(work_ns.size());
        most_ns = std::max(most_ns, own_ns[i]);
      }
      excess_ns[i] = std::max(excess_ns[i], most_ns - mean_ns);
    }
  }
  Slow all;
  if (std::accumulate(excess_ns.begin(), excess_ns.end(), 0.0) >
      kLeastOfIterations * static_cast<double>(job.wall_ns)) {
    describe(all, what_if.ask({.is_balanced = true}, rank), std::abs(1 - what_if.fidelity()));
  }
  const bool lasts =
      all.iterations >= kIterationsOfImbalance && 2 * all.slow_iterations > all.iterations;
  return lasts && all.cost.best >= kLeastImbalance ? std::optional(all.cost) : std::nullopt;
}

}  // namespace

SlowRanks find_slow(const Job& job, const std::vector<std::int64_t>& waited_ns, WhatIf& what_if) {
  SlowRanks slow_ranks;
  slow_ranks.ranks.resize(job.ranks.size());
  if (job.ranks.size() < 2) {
    return slow_ranks;
  }
  std::vector<std::uint32_t> order(job.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::uint32_t> host = order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return waited_ns[a] < waited_ns[b]; });
  std::vector<Slow> found;
  double most = 0;
  const auto add = [&](Group group, std::vector<std::uint32_t> ranks) {
    if (ranks.size() < 2 ? group != Group::kRank : ranks.size() == job.ranks.size()) {
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
  const std::vector<std::vector<double>> waits_by_block_ns =
      by_block(job, what_if.places(), kBlocks,
               [&](std::uint32_t kernel) { return job.kernels[kernel].waited_ns; });
  // Of two stages, one always waits less.
  const auto is_proven = [&](const std::vector<std::uint32_t>& ranks) {
    const bool are_roles = what_if.places().are_whole_roles(ranks);
    return ((!are_roles || job.ranks.size() > 2) &&
            chance_of(waits_by_block_ns, ranks) <= kMostChance) ||
           (are_roles && chance_of_roles(job, what_if, ranks) <= kMostChance);
  };
  const std::size_t candidates =
      std::clamp(kKernelsReplayed / std::max<std::size_t>(job.kernels.size(), 1), kLeastCandidates,
                 kMostCandidates);
  for (std::size_t i = 0; i < std::min(candidates, order.size()); ++i) {
    add(Group::kRank, {order[i]});
    slow_ranks.ranks[order[i]] = found.back();
  }
  std::erase_if(host, [&](std::uint32_t rank) {
    return job.ranks[rank].host != job.ranks[order.front()].host;
  });
  add(Group::kHost, host);
  add(Group::kRole, what_if.places().roles()[what_if.places().role_of(order.front())].ranks);
  // Of two slow ranks, neither may cost anything by itself. Each must be slow by itself.
  for (std::size_t count = 2; count <= kLeastCandidates && 2 * count <= job.ranks.size(); ++count) {
    std::vector<std::uint32_t> ranks = order;
    ranks.resize(count);
    std::sort(ranks.begin(), ranks.end());
    if (std::all_of(ranks.begin(), ranks.end(),
                    [&](std::uint32_t rank) { return is_proven({rank}); })) {
      add(Group::kSeveral, std::move(ranks));
    }
  }
  std::erase_if(found, [&](const Slow& one) { return one.cost.best < kMostOfIt * most; });
  if (!found.empty()) {
    // Ranks come before groups; of ranks the one that costs most.
    const Slow& worst =
        *std::min_element(found.begin(), found.end(), [](const Slow& a, const Slow& b) {
          return a.ranks.size() != b.ranks.size() ? a.ranks.size() < b.ranks.size()
                                                  : a.cost.best > b.cost.best;
        });
    const double least_sets =
        std::max(static_cast<double>(job.ranks.size() / worst.ranks.size()), 2.0);
    if (worst.cost.best >= kLeastCost && worst.cost.least >= kLeastSure) {
      if (is_proven(worst.ranks) || chance_of_stall(job, what_if, worst.ranks) <= kMostChance) {
        slow_ranks.worst = worst;
      } else if (worst.iterations < kIterationsOfImbalance ||
                 std::pow(least_sets, 1.0 - worst.iterations) > kMostChance) {
        slow_ranks.unjudged_iterations = worst.iterations;
      }
    }
  }
  slow_ranks.hides_roles = !slow_ranks.worst && !what_if.shows_roles() &&
                           what_if.places().are_whole_roles({order.front()});
  // It does not move where one rank is the last again and again.
  if (!slow_ranks.worst && !is_proven({order.front()})) {
    slow_ranks.imbalance = find_imbalance(job, what_if, order.front());
  }
  return slow_ranks;
}

}  // namespace ringside::replay
