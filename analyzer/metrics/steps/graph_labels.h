// SPDX-License-Identifier: Apache-2.0
//
// The names of a graph's nodes: what ran, for which operator, and where Python was.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_LABELS_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_LABELS_H

#include <cstdint>
#include <map>

#include "analyzer/match/calls/call_stack.h"
#include "analyzer/metrics/steps/rank_graph.h"
#include "analyzer/metrics/steps/thread_segments.h"
#include "analyzer/model/kineto/kineto.h"

namespace ringside::metrics {

class GraphLabels {
 public:
  /// Labels and names are those of `graph`; both must outlive this.
  GraphLabels(const model::KinetoTrace& trace, RankGraph& graph);

  /// Returns the index of a label: of something with a name of the trace, which is this segment of
  /// a thread or was launched in it (nullptr: nobody knows where).
  std::uint32_t of(model::NameId name, const Segment* segment, std::int64_t thread);

 private:
  void describe(const Segment& segment, std::int64_t thread, PathLabel& label);

  const model::KinetoTrace& trace_;
  RankGraph& graph_;
  std::map<std::int64_t, match::CallStack> python_;  // by thread
  std::map<PathLabel, std::uint32_t> known_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_GRAPH_LABELS_H
