// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/kineto/step_text.h"

#include <algorithm>
#include <array>
#include <map>

#include "analyzer/match/verdict/describe.h"

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

std::string short_kernel(std::string_view name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  name.remove_prefix(name.starts_with("void ") ? 5 : 0);
  std::string text(name);
  for (std::size_t at = text.find(kUnnamed); at != text.npos; at = text.find(kUnnamed)) {
    text.erase(at, kUnnamed.size());
  }
  text.resize(std::min(text.find_first_of("<("), text.size()));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
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
  const metrics::PathLabel& label = graph.label_of(graph.nodes[part.node]);
  std::string name = short_kernel(graph.names.text(label.name));
  const std::string where(graph.names.text(label.where));
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
      auto& [longest, sum_ns] = sums[step_part_text(facts, graphs, part)];
      if (longest == nullptr || part.end_ns - part.start_ns > longest->end_ns - longest->start_ns) {
        longest = &part;
      }
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
