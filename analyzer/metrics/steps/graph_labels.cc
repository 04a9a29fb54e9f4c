// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/graph_labels.h"

#include <string_view>
#include <utility>

namespace ringside::metrics {

GraphLabels::GraphLabels(const model::KinetoTrace& trace, RankGraph& graph)
    : trace_(trace), graph_(graph), known_({{PathLabel{}, 0}}) {
  for (const model::KinetoCall& call : trace.python) {
    python_[call.thread].add(call);
  }
  for (auto& [thread, stack] : python_) {
    stack.settle();
  }
}

std::uint32_t GraphLabels::of(model::NameId name, const Segment* segment, std::int64_t thread) {
  PathLabel label;
  if (segment != nullptr) {
    describe(*segment, thread, label);
  }
  label.name = graph_.names.id(trace_.names.text(name));
  const auto [known, is_new] =
      known_.try_emplace(label, static_cast<std::uint32_t>(graph_.labels.size()));
  if (is_new) {
    graph_.labels.push_back(label);
  }
  return known->second;
}

// The operator, and what Python was at.
void GraphLabels::describe(const Segment& segment, std::int64_t thread, PathLabel& label) {
  label.where = graph_.names.id(trace_.names.text(segment.operator_name));
  const auto stack = python_.find(thread);
  if (stack == python_.end()) {
    return;
  }
  // Between operators, Python may have called and left functions.
  const auto [start_ns, end_ns] =
      is_idle(segment) ? stack->second.mostly_in(trace_.names, segment.start_ns, segment.end_ns)
                       : std::pair(segment.start_ns, segment.end_ns);
  for (const model::KinetoCall* const call : stack->second.around(start_ns, end_ns)) {
    const std::string_view name = trace_.names.text(call->name);
    if (label.module == model::kNoName && name.starts_with("nn.Module: ")) {
      label.module = graph_.names.id(name.substr(11));
    }
    if (label.line == model::kNoName && match::is_of_program(name)) {
      label.line = graph_.names.id(match::frame_of(name));
    }
  }
}

}  // namespace ringside::metrics
