// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace ringside::metrics {
namespace {

template <typename T>
double two_sided(const std::vector<T>& a, const std::vector<T>& b) {
  const auto count_a = static_cast<double>(a.size());
  const auto count_b = static_cast<double>(b.size());
  const double count = count_a + count_b;
  double ranks_of_a = 0;
  double ties = 0;
  double below = 0;  // values that are less than those looked at
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const T value = j == b.size() || (i < a.size() && a[i] < b[j]) ? a[i] : b[j];
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    while (i < a.size() && a[i] == value) {
      ++i;
    }
    while (j < b.size() && b[j] == value) {
      ++j;
    }
    const auto equal = static_cast<double>(i - first_i + j - first_j);
    ranks_of_a += static_cast<double>(i - first_i) * (below + (equal + 1) / 2);
    ties += equal * equal * equal - equal;
    below += equal;
  }
  const double u = ranks_of_a - count_a * (count_a + 1) / 2;
  const double variance = count_a * count_b / 12 * (count + 1 - ties / (count * (count - 1)));
  if (!(variance > 0)) {
    return 1;
  }
  const double distance = std::max(0.0, std::abs(u - count_a * count_b / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace

double mann_whitney(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return two_sided(a, b);
}

double mann_whitney_of_rates(const std::vector<double>& a, const std::vector<double>& b) {
  return two_sided(a, b);
}

std::vector<double> holm(const std::vector<double>& probabilities) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t first, std::size_t second) {
    return probabilities[first] < probabilities[second];
  });
  std::vector<double> corrected(probabilities.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double raised = probabilities[order[i]] * static_cast<double>(order.size() - i);
    least = std::max(least, std::min(1.0, raised));
    corrected[order[i]] = least;
  }
  return corrected;
}

}  // namespace ringside::metrics
