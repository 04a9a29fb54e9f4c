// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/significance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace ringside::metrics {
namespace {

// The regularised incomplete beta function by its continued fraction (Lentz's way), which converges
// fast for x below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-14;
  const auto kept = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / kept(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int i = 1; i <= 500; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kPrecision) {
      break;
    }
  }
  return std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) +
                  b * std::log1p(-x)) *
         result / a;
}

double incomplete_beta(double a, double b, double x) {
  if (!(x > 0)) {
    return 0;
  }
  if (x >= 1) {
    return 1;
  }
  return x < (a + 1) / (a + b + 2) ? beta_fraction(a, b, x) : 1 - beta_fraction(b, a, 1 - x);
}

// Ranks instead of values, so that single long times do not hide how alike neighbours are.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) {
      ++end;
    }
    for (std::size_t k = i; k < end; ++k) {
      ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    }
    i = end;
  }
  return ranks;
}

}  // namespace

double student_upper_tail(double t, double freedom) {
  const double both = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  return t > 0 ? both / 2 : 1 - both / 2;
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

double correlation(const std::vector<double>& values, std::size_t lag, double power) {
  double sum = 0;
  for (std::size_t i = lag; i < values.size(); ++i) {
    sum += values[i] * values[i - lag];
  }
  return power > 0 ? sum / power : 0;
}

std::vector<double> centred_ranks(const std::vector<double>& values) {
  std::vector<double> ranks = ranks_of(values);
  const double mean =
      std::accumulate(ranks.begin(), ranks.end(), 0.0) / static_cast<double>(ranks.size());
  for (double& rank : ranks) {
    rank -= mean;
  }
  return ranks;
}

double power_of(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

double correlation_time(const std::vector<std::vector<double>>& series) {
  std::vector<std::vector<double>> ranks;
  std::vector<double> powers;
  std::size_t least = series.empty() ? 0 : series.front().size();
  for (const std::vector<double>& values : series) {
    ranks.push_back(centred_ranks(values));
    powers.push_back(power_of(ranks.back()));
    least = std::min(least, values.size());
  }
  double time = 1;
  for (std::size_t lag = 1; lag + 1 < least / 2; lag += 2) {
    double two = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      two += correlation(ranks[i], lag, powers[i]) + correlation(ranks[i], lag + 1, powers[i]);
    }
    if (two <= 0) {
      break;
    }
    time += 2 * two / static_cast<double>(ranks.size());
  }
  return time;
}

}  // namespace ringside::metrics
