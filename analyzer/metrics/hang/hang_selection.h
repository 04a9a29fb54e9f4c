// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_HANG_SELECTION_H
#define RINGSIDE_ANALYZER_METRICS_HANG_HANG_SELECTION_H

#include "analyzer/match/selection.h"
#include "analyzer/metrics/hang/hang.h"

namespace ringside::metrics {

/// Leaves what is stuck in the communicators that are chosen, and what that waits for, wherever it
/// is: all communicators had to be looked at to know. The others are hidden.
void choose_communicators(const match::Selection& selection, Hang& hang);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_HANG_SELECTION_H
