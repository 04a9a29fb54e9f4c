// SPDX-License-Identifier: Apache-2.0
//
// Whether the times of two sides differ by more than chance. What is not known of single times, as
// the error of timestamps, is common to both sides, so it is no part of this.
// docs/dev/derivations.md derives it.
#ifndef RINGSIDE_ANALYZER_METRICS_COMPARE_DIFFERENCE_H
#define RINGSIDE_ANALYZER_METRICS_COMPARE_DIFFERENCE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::metrics {

/// The times of one run, in their order: above 0, in any unit.
using TimesOfRun = std::vector<double>;

/// The units that were taken for independent of each other.
enum class JudgedBy : std::uint8_t {
  kNothing,  // there is too little to judge by
  kBlocks,   // stretches of a run that are longer than its times are correlated
  kRuns,     // runs: several of at least one side
};

struct Difference {
  JudgedBy judged_by = JudgedBy::kNothing;
  std::size_t units_a = 0;  // runs or blocks
  std::size_t units_b = 0;
  /// The two-sided probability of such a difference where there is none. Meaningful if it was
  /// judged.
  double chance = 1;
};

/// Least number of times of a run for it to be judged, and of blocks.
inline constexpr std::size_t kLeastToJudge = 8;
inline constexpr std::size_t kLeastBlocks = 4;

/// How a run is cut into stretches that are longer than its times are correlated.
struct Blocks {
  std::size_t count = 0;  // fewer than kLeastBlocks are too few to judge
  /// The rest of the correlation makes the spread of blocks too small by this factor.
  double inflation = 1;
};

/// Cuts a run into at most 20 blocks, each of two times or more.
Blocks independent_blocks(const TimesOfRun& times);

/// Compares the sides. `rows`: how many comparisons are corrected for together, which says how
/// small a probability must be resolved. Runs with fewer than kLeastToJudge times do not count. The
/// same input gives the same result.
Difference difference_of(const std::vector<TimesOfRun>& a, const std::vector<TimesOfRun>& b,
                         std::size_t rows);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_COMPARE_DIFFERENCE_H
