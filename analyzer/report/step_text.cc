// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/step_text.h"

#include <array>
#include <map>

#include "analyzer/match/describe.h"

namespace ringside::report {
namespace {

using metrics::PathKind;
using metrics::PathNode;
using metrics::ProcessGraph;
using metrics::StepPart;

constexpr std::array<std::string_view, metrics::kPathKinds> kKindTexts = {
    "kernels",     "copies",      "CPU operators", "launch overhead", "exposed communication",
    "data loader", "no operator", "not recorded"};

}  // namespace

std::string_view short_kernel(std::string_view name) {
  name.remove_prefix(name.starts_with("void ") ? 5 : 0);
  name = name.substr(0, name.find_first_of("<("));
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

std::string_view path_kind_text(PathKind kind) {
  return kKindTexts.at(static_cast<std::size_t>(kind));
}

std::string step_part_text(const facts::Facts& facts, const std::vector<ProcessGraph>& graphs,
                           const StepPart& part) {
  const metrics::RankGraph& graph = graphs[part.process].graph;
  if (part.kind == PathKind::kCommunication && part.operation != StepPart::kNone) {
    return match::operation_text(facts.traces(), facts.matches().operations[part.operation]);
  }
  if (part.kind == PathKind::kUnknown || part.node >= graph.nodes.size()) {
    return "what is not recorded";
  }
  const PathNode& node = graph.nodes[part.node];
  std::string name(short_kernel(graph.names.text(node.name)));
  const std::string where(graph.names.text(node.where));
  if (part.is_gap) {
    return "the start of " + (name.empty() ? std::string("an operation of NCCL") : name);
  }
  switch (part.kind) {
    case PathKind::kOperator:
      return name;
    case PathKind::kDataLoader:
      return "the DataLoader";
    case PathKind::kIdle:
      return name.empty() ? "no operator" : "no operator, in " + name;
    default:
      return where.empty() ? name : name + " of " + where;
  }
}

std::pair<const StepPart*, std::int64_t> mostly_in(const facts::Facts& facts,
                                                   const std::vector<ProcessGraph>& graphs,
                                                   const metrics::StepPath& step,
                                                   std::uint32_t wait) {
  std::map<std::string, std::pair<const StepPart*, std::int64_t>> sums;
  for (const StepPart& part : step.parts) {
    if (part.waited_in == wait && part.end_ns > part.start_ns) {
      auto& [last, sum_ns] = sums[step_part_text(facts, graphs, part)];
      last = &part;
      sum_ns += part.end_ns - part.start_ns;
    }
  }
  // A known part says more, however short.
  std::pair<const StepPart*, std::int64_t> most = {nullptr, 0};
  for (const auto& [name, sum] : sums) {
    const bool is_known = sum.first->kind != PathKind::kUnknown;
    const bool was_known = most.first != nullptr && most.first->kind != PathKind::kUnknown;
    most = std::pair(is_known, sum.second) > std::pair(was_known, most.second) ? sum : most;
  }
  return most;
}

}  // namespace ringside::report
