// SPDX-License-Identifier: Apache-2.0
//
// Steps of the network bound the clocks, too: no chunk is received before its sender began with it.
#ifndef RINGSIDE_ANALYZER_ALIGN_STEP_POINTS_H
#define RINGSIDE_ANALYZER_ALIGN_STEP_POINTS_H

#include "analyzer/align/sync_points.h"

namespace ringside::align {

/// Adds a point for each step of an operation with trusted numbers. The k-th chunk that a rank
/// sends to another on a channel is the k-th that the other receives there, if both have as many.
/// If there are many millions of steps, it takes those of some operations.
void add_step_points(const model::Traces& traces, const match::Matches& matches,
                     const HostClocks& clocks, SyncPoints& made);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_STEP_POINTS_H
