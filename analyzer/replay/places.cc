// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/places.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/model/nth_value.h"

namespace ringside::replay {
namespace {

// An iteration is sought in so many kernels, and has at most so many of them.
constexpr std::size_t kKernelsCompared = 3000;
constexpr std::size_t kMostInIteration = 1000;
constexpr std::size_t kLeastIterations = 4;  // or, if nothing repeats so often, two
// One kernel of so many may be another one than in the iteration before.
constexpr std::size_t kOneOdd = 20;
// The shortest iteration counts that explains the time between kernels as well as any other does,
// but for this share of it. Without it, ten iterations with one slow one would be an iteration.
constexpr double kUnexplained = 0.1;
// The ranks whose median stands for all of a role.
constexpr std::size_t kRanksAsked = 33;

// The median over ranks of the time between a kernel and the one before. It is no late rank's.
std::vector<std::int64_t> typical_gaps(const Job& job, const Role& role, std::size_t count) {
  std::vector<std::int64_t> gaps_ns(count);
  std::vector<std::int64_t> of_ranks;
  const std::size_t step = (role.ranks.size() + kRanksAsked - 1) / kRanksAsked;
  for (std::size_t i = 1; i < count; ++i) {
    of_ranks.clear();
    for (std::size_t r = 0; r < role.ranks.size(); r += step) {
      const auto kernels = job.kernels_of(job.ranks[role.ranks[r]]);
      of_ranks.push_back(std::max<std::int64_t>(kernels[i].start_ns - kernels[i - 1].end_ns, 0));
    }
    gaps_ns[i] = model::lower_median(of_ranks);
  }
  return gaps_ns;
}

// How far the times at each place are from their median, together.
double unexplained_ns(const std::vector<std::int64_t>& gaps_ns, std::size_t length) {
  double sum_ns = 0;
  std::vector<std::int64_t> here;
  for (std::size_t place = 0; place < length; ++place) {
    here.clear();
    for (std::size_t i = place; i < gaps_ns.size(); i += length) {
      here.push_back(gaps_ns[i]);
    }
    const std::int64_t median_ns = model::upper_median(here);
    for (const std::int64_t gap_ns : here) {
      sum_ns += static_cast<double>(std::abs(gap_ns - median_ns));
    }
  }
  return sum_ns;
}

// Lengths of an iteration of that role by its calls, and how much of its time each leaves
// unexplained, ascending.
std::map<std::uint32_t, double> possible_lengths(const Job& job, const Role& role) {
  const JobRank& first = job.ranks[role.ranks.front()];
  if (first.step_length > 0) {
    return {{first.step_length, 0}};
  }
  const auto kernels = job.kernels_of(first);
  const std::size_t count = std::min(kernels.size(), kKernelsCompared);
  const std::vector<std::int64_t> gaps_ns = typical_gaps(job, role, count);
  const double all_ns = static_cast<double>(
      std::max<std::int64_t>(std::accumulate(gaps_ns.begin(), gaps_ns.end(), std::int64_t{0}), 1));
  std::map<std::uint32_t, double> possible;
  for (std::uint32_t length = 1;
       length <= kMostInIteration && length * (possible.empty() ? 2 : kLeastIterations) <= count;
       ++length) {
    std::size_t odd = 0;
    for (std::size_t i = length; i < count && odd * kOneOdd <= count; ++i) {
      odd += kernels[i].signature == kernels[i - length].signature ? 0 : 1;
    }
    if (odd * kOneOdd <= count) {
      possible.emplace(length, unexplained_ns(gaps_ns, length) / all_ns);
    }
  }
  if (possible.empty()) {
    possible.emplace(static_cast<std::uint32_t>(kernels.size()), 0);
  }
  return possible;
}

std::uint32_t shortest_that_explains(const std::map<std::uint32_t, double>& possible) {
  const auto least =
      std::min_element(possible.begin(), possible.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return std::find_if(possible.begin(), possible.end(),
                      [&](const auto& one) { return one.second <= least->second + kUnexplained; })
      ->first;
}

}  // namespace

Places::Places(const Job& job) : role_of_(job.ranks.size()) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> by_sequence;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    std::vector<std::uint32_t> sequence;
    for (const Kernel& kernel : job.kernels_of(job.ranks[rank])) {
      sequence.push_back(kernel.signature);
    }
    const auto [role, is_new] =
        by_sequence.try_emplace(std::move(sequence), static_cast<std::uint32_t>(roles_.size()));
    if (is_new) {
      roles_.emplace_back();
    }
    role_of_[rank] = role->second;
    roles_[role->second].ranks.push_back(rank);
  }
  // All roles have as many iterations, if their calls allow it: those of a role may all be late.
  std::vector<std::map<std::uint32_t, double>> possible;
  std::size_t most = 0;
  const auto count_of = [&](const Role& role) {
    return job.ranks[role.ranks.front()].kernel_count;
  };
  for (Role& role : roles_) {
    possible.push_back(possible_lengths(job, role));
    role.length = shortest_that_explains(possible.back());
    most = std::max<std::size_t>(most, count_of(role) / role.length);
  }
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const auto length = static_cast<std::uint32_t>(count_of(roles_[i]) / most);
    roles_[i].length = possible[i].contains(length) ? length : roles_[i].length;
  }
}

bool Places::are_whole_roles(const std::vector<std::uint32_t>& ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
    const std::vector<std::uint32_t>& alike = roles_[role_of_[rank]].ranks;
    return std::all_of(alike.begin(), alike.end(), [&](std::uint32_t other) {
      return std::find(ranks.begin(), ranks.end(), other) != ranks.end();
    });
  });
}

}  // namespace ringside::replay
