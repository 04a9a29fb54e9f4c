// SPDX-License-Identifier: Apache-2.0
//
// Steps of the network bound the clocks, too: no chunk is received before its sender began with it.
#ifndef RINGSIDE_ANALYZER_ALIGN_POINTS_STEP_POINTS_H
#define RINGSIDE_ANALYZER_ALIGN_POINTS_STEP_POINTS_H

#include "analyzer/align/points/sync_points.h"

namespace ringside::align {

/// Adds a point for each chunk that went from one host to another in an operation with a trusted
/// number.
void add_step_points(const model::Traces& traces, const match::Matches& matches,
                     const HostClocks& clocks, SyncPoints& made);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_POINTS_STEP_POINTS_H
