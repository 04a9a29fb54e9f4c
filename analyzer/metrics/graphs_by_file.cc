// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/graphs_by_file.h"

#include <algorithm>
#include <string>

namespace ringside::metrics {

GraphsByFile::GraphsByFile(const std::vector<ProcessGraph>& graphs) : graphs_(graphs) {
  for (std::uint32_t i = 0; i < graphs.size(); ++i) {
    by_file_[graphs[i].file].push_back(i);
  }
  for (auto& [file, own] : by_file_) {
    std::stable_sort(own.begin(), own.end(), [&](std::uint32_t one, std::uint32_t other) {
      return graphs[one].graph.begin_ns < graphs[other].graph.begin_ns;
    });
  }
}

const std::vector<std::uint32_t>& GraphsByFile::of(std::uint32_t file) const {
  static const std::vector<std::uint32_t> none;
  const auto found = by_file_.find(file);
  return found == by_file_.end() ? none : found->second;
}

std::optional<std::uint32_t> GraphsByFile::at(std::uint32_t file, std::size_t operation,
                                              std::optional<std::int64_t> called_ns) const {
  std::optional<std::uint32_t> found;
  for (const std::uint32_t i : of(file)) {
    const RankGraph& graph = graphs_[i].graph;
    const std::uint32_t node = graph.node_of(operation);
    if (node != PathNode::kNone &&
        (!found || graph.begin_ns <= called_ns.value_or(graph.nodes[node].start_ns))) {
      found = i;
    }
  }
  return found;
}

void number_steps(std::vector<ProcessGraph>& graphs) {
  const GraphsByFile by_file(graphs);
  for (std::uint32_t i = 0; i < graphs.size(); ++i) {
    const std::vector<std::uint32_t>& own = by_file.of(graphs[i].file);
    if (own.front() != i) {
      continue;  // all graphs of a process are numbered with its first one
    }
    std::map<std::string, std::size_t, std::less<>> before;
    for (const std::uint32_t one : own) {
      RankGraph& graph = graphs[one].graph;
      std::map<std::string, std::size_t, std::less<>> after = before;
      for (StepRoot& step : graph.steps) {
        const std::string name(graph.names.text(step.name));
        const auto known = before.find(name);
        step.occurrence += known == before.end() ? 0 : known->second;
        after[name] = step.occurrence + 1;
      }
      before = std::move(after);
    }
  }
}

}  // namespace ringside::metrics
