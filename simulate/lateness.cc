// SPDX-License-Identifier: Apache-2.0
#include "simulate/lateness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ringside::simulate {

Lateness::Lateness(const Options& options)
    : options_(options),
      random_(options.seed ^ 0x6c617465U),
      slowness_(static_cast<std::size_t>(options.ranks())) {}

double Lateness::normal() {
  constexpr double kTwoPi = 6.283185307179586;
  return std::sqrt(-2 * std::log(1 - random_.unit())) * std::cos(kTwoPi * random_.unit());
}

std::int64_t Lateness::extra_ns(int rank, std::int64_t iteration) {
  const auto compute = static_cast<double>(options_.compute_ns);
  double extra = 0;
  if (options_.tail_index > 0) {
    // Pareto: with an index of 2 or less even its variance is infinite.
    constexpr double kScale = 0.05;
    constexpr double kMost = 1000;
    const double pareto = std::pow(1 - random_.unit(), -1 / options_.tail_index) - 1;
    extra += compute * kScale * std::min(pareto, kMost);
  }
  if (options_.persistence > 0) {
    // An autoregression of first order, of a standard deviation of a tenth of the computing.
    double& slowness = slowness_[static_cast<std::size_t>(rank)];
    const double fresh = std::sqrt(1 - options_.persistence * options_.persistence);
    slowness = options_.persistence * slowness + fresh * normal();
    extra += compute * 0.1 * std::max(slowness + 3, 0.0);
  }
  for (const LateMode& mode : options_.late_modes) {
    if (mode.rank != rank || iteration < mode.from) {
      continue;
    }
    if (mode.percent > 0) {
      extra += random_.unit() * 100 < mode.percent ? compute * (mode.factor - 1) : 0;
    } else if ((iteration - mode.from) % mode.every < mode.length) {
      extra += static_cast<double>(mode.delay_ns);
    }
  }
  return static_cast<std::int64_t>(extra);
}

}  // namespace ringside::simulate
