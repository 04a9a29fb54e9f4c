// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/lasting_noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "analyzer/metrics/significance.h"

namespace ringside::metrics {
namespace {

// A part of the variance is noise that is forgotten in so many blocks (an autoregression of first
// order), the rest is independent from block to block. `powers`, by frequency: how much of the
// variance is there, 1 without anything that lasts; the first is that of the sum of all blocks.
struct NoiseModel {
  double prior = 0;
  std::vector<double> powers;
};

using Cosines = std::vector<std::vector<double>>;

// The cosine transform (DCT-II, orthonormal), by frequency and block: coefficients of slow noise
// are nearly independent.
Cosines make_cosines(std::size_t length) {
  const auto count = static_cast<double>(length);
  Cosines cosines(length, std::vector<double>(length, std::sqrt(1 / count)));
  for (std::size_t frequency = 1; frequency < length; ++frequency) {
    for (std::size_t at = 0; at < length; ++at) {
      cosines[frequency][at] =
          std::sqrt(2 / count) * std::cos(std::numbers::pi * static_cast<double>(frequency) *
                                          (static_cast<double>(at) + 0.5) / count);
    }
  }
  return cosines;
}

std::vector<double> powers_of_memory(double blocks, const Cosines& cosines) {
  const double kept = std::exp(-1 / blocks);
  std::vector<double> powers;
  for (const std::vector<double>& row : cosines) {
    double power = 0;
    double from_before = 0;  // what all earlier blocks add to a block's covariance
    for (const double here : row) {
      power += here * (here + 2 * from_before);
      from_before = kept * (from_before + here);
    }
    powers.push_back(power);
  }
  return powers;
}

std::vector<NoiseModel> make_models(const Cosines& cosines, bool may_be_for_ever) {
  constexpr double kMemories[] = {1, 2, 4, 8, 16, 32, 64};  // blocks
  constexpr double kParts[] = {0.03, 0.1, 0.3, 0.6, 0.9, 0.99, 0.9999, 0.999999};
  constexpr double kPriorOfMemory = 0.3;
  // It is improbable at first that each has its own speed all along; the sums of several may show
  // it.
  constexpr double kForEver = 1e9;  // blocks
  constexpr double kPriorOfEver = 0.001;
  std::vector<NoiseModel> models = {
      {1 - kPriorOfMemory - kPriorOfEver, std::vector<double>(cosines.size(), 1)}};
  const auto add = [&](double memory, double prior) {
    const std::vector<double> lasting = powers_of_memory(memory, cosines);
    for (const double part : kParts) {
      NoiseModel& model = models.emplace_back();
      model.prior = prior / static_cast<double>(std::size(kParts));
      for (const double power : lasting) {
        model.powers.push_back(part * power + 1 - part);
      }
    }
  };
  for (const double memory : kMemories) {
    add(memory, kPriorOfMemory / static_cast<double>(std::size(kMemories)));
  }
  if (may_be_for_ever) {
    add(kForEver, kPriorOfEver);
  }
  return models;
}

double mean_at(const std::vector<BlockTimes>& series, std::size_t at) {
  return std::accumulate(series.begin(), series.end(), 0.0,
                         [&](double sum, const BlockTimes& one) { return sum + one[at]; }) /
         static_cast<double>(series.size());
}

}  // namespace

double chance_of_lasting_noise(const BlockTimes& suspect, std::vector<BlockTimes> others) {
  constexpr std::size_t kFewestBlocks = 4;
  const std::size_t length = suspect.size();
  if (length < kFewestBlocks || others.empty()) {
    return 0;
  }
  const Cosines cosines = make_cosines(length);
  double excess = 0;
  for (std::size_t at = 0; at < length; ++at) {
    const double mean = mean_at(others, at);
    excess += (suspect[at] - mean) * cosines[0][at];
    for (BlockTimes& one : others) {
      one[at] -= others.size() > 1 ? mean : 0;  // what all have in common makes nobody late
    }
  }
  // One alone tells nothing of the spread of sums, and its mean is not known.
  const std::size_t first = others.size() > 1 ? 0 : 1;
  const double each = static_cast<double>(std::max<std::size_t>(others.size() - 1, 1));
  std::vector<double> squares(length);
  for (std::size_t frequency = first; frequency < length; ++frequency) {
    for (const BlockTimes& one : others) {
      const double coefficient =
          std::inner_product(one.begin(), one.end(), cosines[frequency].begin(), 0.0);
      squares[frequency] += coefficient * coefficient;
    }
  }
  // For each model, with a variance that is not known before: how likely it is (as a logarithm),
  // and Student's t of the suspect.
  const double freedom = each * static_cast<double>(length - first);
  const auto count = static_cast<double>(others.size());
  std::vector<double> likely;
  std::vector<double> chances;
  for (const NoiseModel& model : make_models(cosines, others.size() > 1)) {
    double sum = 0;
    double logs = 0;
    for (std::size_t frequency = first; frequency < length; ++frequency) {
      sum += squares[frequency] / model.powers[frequency];
      logs += std::log(model.powers[frequency]);
    }
    const double variance = model.powers[0] * (1 + 1 / count) * sum / freedom;
    if (!(variance > 0)) {
      return excess > 0 ? 0 : 1;
    }
    likely.push_back(std::log(model.prior) - each * logs / 2 - freedom * std::log(sum) / 2);
    chances.push_back(student_upper_tail(excess / std::sqrt(variance), freedom));
  }
  const double most = *std::max_element(likely.begin(), likely.end());
  double chance = 0;
  double all = 0;
  for (std::size_t i = 0; i < likely.size(); ++i) {
    const double weight = std::exp(likely[i] - most);
    chance += weight * chances[i];
    all += weight;
  }
  return chance / all;
}

}  // namespace ringside::metrics
