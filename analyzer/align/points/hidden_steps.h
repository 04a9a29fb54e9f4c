// SPDX-License-Identifier: Apache-2.0
//
// Steps of a clock that no trace tells: both the processor's counter and CLOCK_MONOTONIC stand
// still while a virtual machine is paused, for instance. They are found where no rate that a clock
// may have explains what operations say of it.
#ifndef RINGSIDE_ANALYZER_ALIGN_POINTS_HIDDEN_STEPS_H
#define RINGSIDE_ANALYZER_ALIGN_POINTS_HIDDEN_STEPS_H

#include <cstdint>
#include <vector>

#include "analyzer/align/bounds.h"
#include "analyzer/align/clock_pieces.h"
#include "analyzer/align/points/sync_points.h"

namespace ringside::align {

/// A clock that may have stepped, between the two ends of the gap.
struct HiddenStep {
  std::uint32_t piece = 0;
  ClockPiece gap;  // from the last moment before the step to the first one behind it
};

/// Looks for the first step in points that contradict each other. Returns each clock whose step
/// would explain it, if there is one. Supposes one step in the shortest stretch of time that
/// contradicts itself.
std::vector<HiddenStep> find_hidden_steps(const Assumption& assumption, const ClockPieces& pieces,
                                          const SyncPoints& points);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_POINTS_HIDDEN_STEPS_H
