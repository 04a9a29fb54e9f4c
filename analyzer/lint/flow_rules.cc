// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/flow_rules.h"

namespace ringside::lint {

void FlowRules::take_end(std::uint64_t line, std::uint64_t& known, const char* what,
                         Findings& findings) {
  if (known != 0) {
    findings.add(line, Rule::kFlowRepeated,
                 std::string(what) + " of this bind_id was in line " + std::to_string(known));
    return;
  }
  known = line;
}

void FlowRules::take(const Event& event, Findings& findings) {
  if (!has(event.object, "bind_id")) {
    return;
  }
  if (event.bind_id.empty()) {
    findings.add(event.line, Rule::kRequiredKeys, "bind_id is not a string");
    return;
  }
  const bool is_out = is_true_at(event.object, "flow_out");
  const bool is_in = is_true_at(event.object, "flow_in");
  if (!is_out && !is_in) {
    findings.add(event.line, Rule::kRequiredKeys, "bind_id without flow_out or flow_in");
    return;
  }
  Flow& flow = flows_[std::string(event.bind_id)];
  if (is_out) {
    take_end(event.line, flow.out_line, "flow_out", findings);
  }
  constexpr std::size_t kBetweenRanks = 18;  // bytes of a bind_id that has bit 63
  if (is_in && event.is_merged && event.bind_id.size() == kBetweenRanks && flow.in_line != 0) {
    return;  // it may lead to several
  }
  if (is_in) {
    take_end(event.line, flow.in_line, "flow_in", findings);
  }
}

void FlowRules::finish(bool is_closed, Findings& findings) {
  if (!is_closed) {
    return;
  }
  for (const auto& [id, flow] : flows_) {
    if (flow.out_line == 0) {
      findings.add(flow.in_line, Rule::kFlowUnmatched, "flow_in of " + id + " has no flow_out");
    } else if (flow.in_line == 0) {
      findings.add(flow.out_line, Rule::kFlowUnmatched, "flow_out of " + id + " has no flow_in");
    }
  }
}

}  // namespace ringside::lint
