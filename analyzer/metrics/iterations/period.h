// SPDX-License-Identifier: Apache-2.0
//
// Whether a sequence of symbols is a block that repeats: with a start that does not, an end that is
// cut off, and now and then something more. docs/dev/derivations.md gives the rules.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATIONS_PERIOD_H
#define RINGSIDE_ANALYZER_METRICS_ITERATIONS_PERIOD_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::metrics {

using Symbols = std::vector<std::uint32_t>;

struct Period {
  Symbols block;        // one turn; not itself a shorter block several times
  double coverage = 0;  // the part of all symbols that is in stretches of it, 0 to 1
};

struct Periods {
  std::vector<Period> seen;           // all that repeat beyond chance, shortest first
  std::optional<std::size_t> chosen;  // index into seen; nothing if there are none
  /// The period with the most coverage, of those that repeat too rarely.
  std::optional<Period> nearest;
};

/// Least number of turns, and of symbols where the block has one symbol.
inline constexpr std::size_t kLeastTurns = 4;
inline constexpr std::size_t kLeastInARow = 16;
/// Least part of all symbols; where the block has one symbol.
inline constexpr double kLeastCoverage = 0.5;
inline constexpr double kLeastCoverageOfOne = 0.9;

/// Finds blocks of `least_length` symbols or more. This takes n log n time, and memory linear in n.
Periods find_periods(const Symbols& symbols, std::size_t least_length = 1);

/// The block of that length with the most coverage, however rare; nothing if none repeats.
std::optional<Period> find_period_of(const Symbols& symbols, std::size_t length);

/// A turn of a block: positions [begin, end). More symbols than the block has are extra ones in its
/// midst.
struct Turn {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// All turns of `block`, which begin with its first symbol, in their order; they do not overlap.
/// The symbols between, before and after them are in no turn. The search takes linear time.
std::vector<Turn> find_turns(const Symbols& symbols, const Symbols& block);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_PERIOD_H
