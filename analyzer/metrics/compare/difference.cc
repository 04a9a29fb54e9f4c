// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/compare/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "analyzer/metrics/lasting_noise.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/significance.h"

namespace ringside::metrics {
namespace {

constexpr double kMostBlocks = 20;
constexpr double kTimesOfBlock = 2;  // at least
constexpr double kEnoughBlocks = 8;  // to tell whether neighbours are alike
// Blocks of so many correlation times are nearly independent of each other.
constexpr double kCorrelationTimes = 2.5;
// Blocks that are more alike than that with their neighbours are correlated themselves: by
// something slow that the noise of single times hides.
constexpr double kMostAlike = 0.2;
// So many resamples exceed the difference where it is just significant, with all rows counted.
constexpr std::size_t kExceeding = 20;
constexpr std::size_t kLeastResamples = 4000;
constexpr std::size_t kMostResamples = 400'000;
constexpr double kLevel = 0.05;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) {
    sum += (value - mean) * (value - mean);
  }
  return values.size() < 2 ? 0 : sum / static_cast<double>(values.size() - 1);
}

double log_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return std::log(median(values));
}

// The logarithm of the median of each block.
std::vector<double> logs_of_blocks(const TimesOfRun& times, std::size_t blocks) {
  std::vector<double> logs;
  const auto at = [&](std::size_t block) {
    return times.begin() + static_cast<std::ptrdiff_t>(times.size() * block / blocks);
  };
  for (std::size_t i = 0; i < blocks; ++i) {
    logs.push_back(log_median(std::vector<double>(at(i), at(i + 1))));
  }
  return logs;
}

// The probability that `slow` exceeds `fast` by as much through chance, one-sided. The bootstrap of
// Student's t knows that the spread of few blocks is uncertain itself.
double chance_of_blocks(const std::vector<double>& slow, const std::vector<double>& fast,
                        double inflation, std::size_t rows) {
  const double mean_slow = mean_of(slow);
  const double mean_fast = mean_of(fast);
  const double difference = mean_slow - mean_fast;
  if (!(difference > 0)) {
    return 1;
  }
  const auto error_of = [](double variance_slow, double count_slow, double variance_fast,
                           double count_fast) {
    return std::sqrt(variance_slow / count_slow + variance_fast / count_fast);
  };
  const auto count_slow = static_cast<double>(slow.size());
  const auto count_fast = static_cast<double>(fast.size());
  const double error = inflation * error_of(variance_of(slow, mean_slow), count_slow,
                                            variance_of(fast, mean_fast), count_fast);
  const double t = error > 0 ? difference / error : std::numeric_limits<double>::infinity();
  const auto wanted = static_cast<std::size_t>(static_cast<double>(kExceeding * 2 * rows) / kLevel);
  const std::size_t resamples = std::clamp(wanted, kLeastResamples, kMostResamples);
  std::mt19937_64 random(1);
  const auto resample = [&](const std::vector<double>& from, std::vector<double>& into) {
    for (double& value : into) {
      value = from[static_cast<std::size_t>(((random() >> 32U) * from.size()) >> 32U)];
    }
  };
  std::vector<double> again_slow(slow.size());
  std::vector<double> again_fast(fast.size());
  std::size_t exceeding = 0;
  for (std::size_t i = 1; i <= resamples; ++i) {
    resample(slow, again_slow);
    resample(fast, again_fast);
    const double again_mean_slow = mean_of(again_slow);
    const double again_mean_fast = mean_of(again_fast);
    const double by_chance = again_mean_slow - mean_slow - (again_mean_fast - mean_fast);
    const double again_error = error_of(variance_of(again_slow, again_mean_slow), count_slow,
                                        variance_of(again_fast, again_mean_fast), count_fast);
    const bool exceeds =
        again_error > 0 ? by_chance / again_error >= t : by_chance > 0 && error > 0;
    if (exceeds && ++exceeding == kExceeding) {
      return static_cast<double>(exceeding) / static_cast<double>(i);
    }
  }
  return static_cast<double>(exceeding + 1) / static_cast<double>(resamples + 1);
}

// Runs are few: Student's t with Welch's degrees of freedom. If one side has one run only, its runs
// are taken to vary as the other's.
double chance_of_runs(const std::vector<double>& slow, const std::vector<double>& fast) {
  const double mean_slow = mean_of(slow);
  const double mean_fast = mean_of(fast);
  const double difference = mean_slow - mean_fast;
  if (!(difference > 0)) {
    return 1;
  }
  const auto count_slow = static_cast<double>(slow.size());
  const auto count_fast = static_cast<double>(fast.size());
  const double variance_slow = variance_of(slow, mean_slow);
  const double variance_fast = variance_of(fast, mean_fast);
  double squared_error = 0;
  double freedom = 1;
  if (slow.size() < 2 || fast.size() < 2) {
    squared_error = (variance_slow + variance_fast) * (1 / count_slow + 1 / count_fast);
    freedom = std::max(count_slow, count_fast) - 1;
  } else {
    const double part_slow = variance_slow / count_slow;
    const double part_fast = variance_fast / count_fast;
    squared_error = part_slow + part_fast;
    if (squared_error > 0) {
      freedom =
          squared_error * squared_error /
          (part_slow * part_slow / (count_slow - 1) + part_fast * part_fast / (count_fast - 1));
    }
  }
  return squared_error > 0 ? student_upper_tail(difference / std::sqrt(squared_error), freedom) : 0;
}

// The usual distance from the median, as a normal distribution has it.
double deviation_of(const std::vector<double>& values) {
  constexpr double kDeviation = 1.4826;
  const double middle = *median_of(values);
  std::vector<double> distances(values.size());
  std::transform(values.begin(), values.end(), distances.begin(),
                 [middle](double value) { return std::abs(value - middle); });
  return kDeviation * *median_of(std::move(distances));
}

std::vector<const TimesOfRun*> judged_runs(const std::vector<TimesOfRun>& side) {
  std::vector<const TimesOfRun*> runs;
  for (const TimesOfRun& run : side) {
    if (run.size() >= kLeastToJudge) {
      runs.push_back(&run);
    }
  }
  return runs;
}

std::vector<double> logs_of_runs(const std::vector<const TimesOfRun*>& runs) {
  std::vector<double> logs;
  logs.reserve(runs.size());
  for (const TimesOfRun* const run : runs) {
    logs.push_back(log_median(*run));
  }
  return logs;
}

// Medians of few times, some of which take far longer than the others, are far off now and then. By
// their squares these would count for nearly all of the noise, and they hardly move the median.
// Noise that lasts is there in most blocks, so it stays.
std::vector<double> without_tails(std::vector<double> values) {
  constexpr double kMostDeviations = 3;
  const double middle = *median_of(values);
  const double most = kMostDeviations * deviation_of(values);
  for (double& value : values) {
    value = std::clamp(value, middle - most, middle + most);
  }
  return values;
}

// The greater of the two probabilities that the noise of one side, as long as it lasts, makes such
// a difference.
double chance_by_noise(const std::vector<double>& slow_logs, const std::vector<double>& fast_logs) {
  const std::vector<double> slow = without_tails(slow_logs);
  const std::vector<double> fast = without_tails(fast_logs);
  const auto reversed = [](std::vector<double> values) {
    for (double& value : values) {
      value = -value;
    }
    return values;
  };
  return std::max(chance_of_lasting_noise(slow, {fast}),
                  chance_of_lasting_noise(reversed(fast), {reversed(slow)}));
}

// A run that goes from one level to another, far beyond what it varies by on either, was changed by
// something that happened then: that is no noise that lasts. Returns its times as if all were on
// the level of its median, if it is such a run.
TimesOfRun without_step(const TimesOfRun& times) {
  constexpr std::size_t kLeastPart = 8;   // of a run
  constexpr double kLeastDeviations = 8;  // of a level's times
  constexpr double kLeastStep = 0.02;     // as a logarithm
  TimesOfRun logs(times.size());
  std::transform(times.begin(), times.end(), logs.begin(),
                 [](double time) { return std::log(time); });
  // The cut that leaves the least squares is taken.
  const double all = std::accumulate(logs.begin(), logs.end(), 0.0);
  double before = 0;
  double most = 0;
  std::size_t cut = 0;
  const std::size_t least = std::max(kLeastToJudge, logs.size() / kLeastPart);
  for (std::size_t i = 1; i < logs.size(); ++i) {
    before += logs[i - 1];
    const auto left = static_cast<double>(i);
    const auto right = static_cast<double>(logs.size() - i);
    const double apart = before / left - (all - before) / right;
    const double explained = apart * apart * left * right;
    if (i >= least && logs.size() - i >= least && explained > most) {
      most = explained;
      cut = i;
    }
  }
  if (cut == 0) {
    return times;
  }
  const auto middle = logs.begin() + static_cast<std::ptrdiff_t>(cut);
  const std::vector<double> first(logs.begin(), middle);
  const std::vector<double> second(middle, logs.end());
  const double first_level = *median_of(first);
  const double second_level = *median_of(second);
  const double deviation = std::max(deviation_of(first), deviation_of(second));
  if (std::abs(first_level - second_level) < std::max(kLeastDeviations * deviation, kLeastStep)) {
    return times;
  }
  const double level = *median_of(logs);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] = std::exp(logs[i] - (i < cut ? first_level : second_level) + level);
  }
  return logs;
}

template <typename Chance>
double both_ways(const std::vector<double>& a, const std::vector<double>& b, Chance chance) {
  return std::min(1.0, 2 * std::min(chance(b, a), chance(a, b)));
}

}  // namespace

Blocks independent_blocks(const TimesOfRun& times) {
  const auto count = static_cast<double>(times.size());
  double time = correlation_time({times});
  const double most = std::min(std::floor(count / kTimesOfBlock), kMostBlocks);
  const auto blocks_of = [&](double correlated) {
    return std::min(most, std::floor(count / (kCorrelationTimes * correlated)));
  };
  Blocks found;
  found.count = static_cast<std::size_t>(blocks_of(time));
  if (blocks_of(time) >= kEnoughBlocks) {
    const std::vector<double> logs = logs_of_blocks(times, found.count);
    const std::vector<double> ranks = centred_ranks(logs);
    const double time_of_blocks = correlation_time({logs});
    if (correlation(ranks, 1, power_of(ranks)) > kMostAlike) {
      time = std::max(time, time_of_blocks * count / blocks_of(time));
      found.count = static_cast<std::size_t>(blocks_of(time));
    } else {
      found.inflation = std::sqrt(time_of_blocks);
    }
  }
  // Four blocks that are longer than the correlation time are as few as can be judged.
  if (found.count < kLeastBlocks && time <= count / static_cast<double>(kLeastBlocks) &&
      most >= static_cast<double>(kLeastBlocks)) {
    found.count = kLeastBlocks;
  }
  if (found.count > 0) {
    const double length = count / static_cast<double>(found.count);
    found.inflation = std::max(found.inflation, std::sqrt(length / (length - time / 2)));
  }
  return found;
}

Difference difference_of(const std::vector<TimesOfRun>& a, const std::vector<TimesOfRun>& b,
                         std::size_t rows) {
  const auto runs_a = judged_runs(a);
  const auto runs_b = judged_runs(b);
  Difference found;
  if (runs_a.empty() || runs_b.empty()) {
    return found;
  }
  if (runs_a.size() > 1 || runs_b.size() > 1) {
    found.judged_by = JudgedBy::kRuns;
    found.units_a = runs_a.size();
    found.units_b = runs_b.size();
    found.chance = both_ways(logs_of_runs(runs_a), logs_of_runs(runs_b), chance_of_runs);
    return found;
  }
  const TimesOfRun times_a = without_step(*runs_a.front());
  const TimesOfRun times_b = without_step(*runs_b.front());
  const Blocks blocks_a = independent_blocks(times_a);
  const Blocks blocks_b = independent_blocks(times_b);
  found.units_a = blocks_a.count;
  found.units_b = blocks_b.count;
  if (std::min(found.units_a, found.units_b) < kLeastBlocks) {
    return found;
  }
  found.judged_by = JudgedBy::kBlocks;
  const double inflation = std::max(blocks_a.inflation, blocks_b.inflation);
  found.chance =
      both_ways(logs_of_blocks(times_a, found.units_a), logs_of_blocks(times_b, found.units_b),
                [&](const auto& slow, const auto& fast) {
                  return chance_of_blocks(slow, fast, inflation, rows);
                });
  constexpr std::size_t kFineBlocks = 64;
  const std::size_t fine = std::min({kFineBlocks, times_a.size(), times_b.size()});
  found.chance = std::max(found.chance, both_ways(logs_of_blocks(times_a, fine),
                                                  logs_of_blocks(times_b, fine), chance_by_noise));
  return found;
}

}  // namespace ringside::metrics
