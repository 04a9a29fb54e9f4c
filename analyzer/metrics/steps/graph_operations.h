// SPDX-License-Identifier: Apache-2.0
//
// The operations of a trace as a graph takes them.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_OPERATIONS_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_OPERATIONS_H

#include <vector>

#include "analyzer/match/kineto/kineto_kernels.h"
#include "analyzer/metrics/steps/rank_graph.h"
#include "analyzer/model/kineto/kineto.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// The operations of a process that ran to their end, in the order of the trace; those that a
/// profile covers, if `profile` is not nullptr. `kernels` are those that were joined.
std::vector<GraphOperation> graph_operations(const model::TraceFile& file,
                                             const match::KinetoKernels& kernels,
                                             const model::KinetoTrace* profile);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_OPERATIONS_H
