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

}  // namespace ringside::metrics
