// SPDX-License-Identifier: Apache-2.0
//
// What the order of calls proves of calls in flight, for sources that do not tell when a call was
// begun on the GPU (model::Process::tells_begin). That all ranks have called an operation shows
// nothing there: it may be running.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_ORDER_H
#define RINGSIDE_ANALYZER_METRICS_HANG_ORDER_H

#include <cstddef>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict.h"
#include "analyzer/metrics/hang_positions.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// True if the operation cannot finish on the ranks that are in it: a rank has not called it, or
/// ranks called it with different arguments. `index` is into Matches::operations.
bool lacks_a_rank(const match::Matches& matches, const std::vector<match::Judgement>& judgements,
                  std::size_t index);

/// Where a rank has no front that lacks another rank, its first call in flight that surely cannot
/// finish becomes a front, too: ranks made another call in its place, or left it out.
void add_hopeless_calls(const model::Traces& traces, const match::Matches& matches,
                        const std::vector<match::Judgement>& judgements,
                        std::vector<Position>& positions);

/// For each of Matches::operations, whether it is in a ring of operations, or waits for one: a rank
/// that has called it is at another operation first, and so on, until one waits for the first. A
/// communicator runs its calls in their order, so none of them finishes. Empty: there are no such
/// sources.
std::vector<bool> find_rings(const model::Traces& traces, const match::Matches& matches,
                             const std::vector<Position>& positions);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_ORDER_H
