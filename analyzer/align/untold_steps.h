// SPDX-License-Identifier: Apache-2.0
//
// Steps of a clock that no trace tells: both the processor's counter and CLOCK_MONOTONIC stand
// still while a virtual machine is paused, for instance. They are found where no rate that a clock
// may have explains what operations say of it.
#ifndef RINGSIDE_ANALYZER_ALIGN_UNTOLD_STEPS_H
#define RINGSIDE_ANALYZER_ALIGN_UNTOLD_STEPS_H

#include "analyzer/align/bounds.h"
#include "analyzer/align/clock_pieces.h"
#include "analyzer/align/sync_points.h"

namespace ringside::align {

/// Looks for the first step in points that contradict each other, and cuts there: the clock of each
/// host whose step would explain it, between the last moment that must be before the step and the
/// first one that must be behind it. Supposes one step in the shortest stretch of time that
/// contradicts itself. Returns false, and changes nothing, if no step of one clock explains it.
bool cut_at_untold(const Assumption& assumption, ClockPieces& pieces, SyncPoints& points);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_UNTOLD_STEPS_H
