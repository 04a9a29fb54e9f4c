// SPDX-License-Identifier: Apache-2.0
//
// Finds the least that must be supposed of clocks for the points not to contradict each other: how
// fast they wander, and whether one of them stepped.
#ifndef RINGSIDE_ANALYZER_ALIGN_SOLVED_CLOCKS_H
#define RINGSIDE_ANALYZER_ALIGN_SOLVED_CLOCKS_H

#include <cstdint>

#include "analyzer/align/bounds.h"
#include "analyzer/align/clock_pieces.h"
#include "analyzer/align/points/sync_points.h"

namespace ringside::align {

/// Beside its mean rate a clock wanders with the temperature, by a few ppm.
inline constexpr double kUsualWander = 20e-6;

struct SolvedClocks {
  Solution solution;
  std::uint32_t reference = 0;  // a piece
  Assumption assumption;        // the least that the solution needs
};

/// Tries the usual assumption first, then greater ones up to the most that a kernel corrects. If
/// the points contradict all of them, one step of one clock is believed if it leaves nothing
/// unknown. If a step explains as well what a greater assumption does, the solution allows for
/// both. `pieces` and `points` are cut at the steps.
SolvedClocks solve_clocks(SyncPoints& points, ClockPieces& pieces);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_SOLVED_CLOCKS_H
