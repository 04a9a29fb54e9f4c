// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/graphs_by_file.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "analyzer/match/group_calls.h"
#include "analyzer/model/saturating.h"

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

namespace {

// A range that is a step, with the ends that it has on its threads and streams.
struct StepRange {
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();  // on the common clock
  std::vector<StepRoot*> roots;
};

bool is_range(const RankGraph& graph, const StepRoot& step) {
  return !graph.names.text(step.name).empty();
}

void leave_out_recordings(std::vector<ProcessGraph>& graphs) {
  const bool has_ranges =
      std::any_of(graphs.begin(), graphs.end(), [](const ProcessGraph& process) {
        return !process.graph.steps.empty() && is_range(process.graph, process.graph.steps.front());
      });
  for (ProcessGraph& process : graphs) {
    if (has_ranges && !process.graph.steps.empty() &&
        !is_range(process.graph, process.graph.steps.front())) {
      process.graph.steps.clear();
    }
  }
}

void count_steps(std::vector<ProcessGraph>& graphs) {
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

// Both in the order of time. There are at least as many others.
void number_as(const std::vector<StepRange>& others, const std::vector<StepRange>& ranges) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::size_t last = others.size() - (ranges.size() - i);  // so that each gets one
    const auto distance_ns = [&](std::size_t other) {
      return std::abs(subtract_saturating(others[other].start_ns, ranges[i].start_ns));
    };
    while (number < last && distance_ns(number + 1) < distance_ns(number)) {
      ++number;
    }
    for (StepRoot* const root : ranges[i].roots) {
      root->occurrence = number;
    }
    ++number;
  }
}

}  // namespace

void number_steps(const model::Traces& traces, const match::CommonClock& clock,
                  std::vector<ProcessGraph>& graphs) {
  leave_out_recordings(graphs);
  count_steps(graphs);
  std::map<std::string, std::map<std::uint32_t, std::vector<StepRange>>, std::less<>> by_name;
  for (ProcessGraph& process : graphs) {
    const match::HostClock host(traces.files[process.file]);
    for (StepRoot& step : process.graph.steps) {
      std::vector<StepRange>& ranges =
          by_name[std::string(process.graph.names.text(step.name))][process.file];
      ranges.resize(std::max(ranges.size(), step.occurrence + 1));
      StepRange& range = ranges[step.occurrence];
      range.start_ns =
          std::min(range.start_ns, clock.to_common_ns(process.file, host.when(step.start_ns)));
      range.roots.push_back(&step);
    }
  }
  for (const auto& [name, of_files] : by_name) {
    const auto most = std::max_element(
        of_files.begin(), of_files.end(),
        [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
    for (const auto& [file, ranges] : of_files) {
      if (ranges.size() < most->second.size()) {
        number_as(most->second, ranges);
      }
    }
  }
}

}  // namespace ringside::metrics
