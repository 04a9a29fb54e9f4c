// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/path_graphs.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/kineto/kineto_trace.h"
#include "analyzer/metrics/steps/graph_operations.h"
#include "analyzer/metrics/steps/graph_parts.h"
#include "analyzer/metrics/steps/step_path.h"
#include "analyzer/model/parallel.h"

namespace ringside::cli {
namespace {

metrics::RankGraph make_graph(const AnalysisOptions& options, const Analysis& analysis,
                              const model::KinetoTrace& profile, const match::KinetoFileJoin& join,
                              const metrics::ChooseLabelled& choose_labelled = nullptr) {
  const auto operations =
      metrics::graph_operations(analysis.traces.files[join.file], join.kernels, &profile);
  return metrics::build_rank_graph(profile, operations, options.annotation, choose_labelled);
}

// At most: a thread goes on behind each of its calls.
std::size_t bytes_of_graph(const model::KinetoTrace& profile) {
  const std::size_t calls =
      profile.operators.size() + profile.annotations.size() + profile.runtime.size();
  return (2 * calls + profile.activities.size()) * sizeof(metrics::PathNode);
}

}  // namespace

ProfileTake take_graphs(const AnalysisOptions& options, Analysis& analysis) {
  const auto kept_bytes = std::make_shared<std::size_t>(0);
  return [&, kept_bytes](model::KinetoTrace& profile, const match::KinetoFileJoin& join) {
    const std::size_t bytes = bytes_of_graph(profile);
    if (*kept_bytes + bytes <= options.graph_bytes || load::why_not_again(join.path)) {
      *kept_bytes += bytes;
      analysis.graphs.push_back({join.file, make_graph(options, analysis, profile, join)});
      return;
    }
    profile.python = {};  // which only labels need
    const auto no_labels = [](const metrics::RankGraph& graph) {
      return std::vector<bool>(graph.nodes.size());
    };
    analysis.graphs.push_back(
        {join.file, metrics::condensed(make_graph(options, analysis, profile, join, no_labels))});
  };
}

std::string complete_graphs(const AnalysisOptions& options, std::optional<std::size_t> instance,
                            bool has_waits, Analysis& analysis) {
  std::vector<metrics::Chains> needs(analysis.graphs.size());
  const bool is_whole =
      std::none_of(analysis.graphs.begin(), analysis.graphs.end(),
                   [](const auto& process) { return process.graph.is_condensed(); });
  if (is_whole) {
    return {};
  }
  const metrics::StepPaths paths =
      metrics::find_step_paths(analysis.facts(), analysis.graphs, instance, &needs);
  if (has_waits) {
    metrics::find_wait_paths(analysis.facts(), analysis.graphs, paths.steps, &needs);
  }
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < analysis.profiles.size(); ++i) {
    if (!needs[i].empty()) {
      again.push_back(i);
    }
  }
  std::string trouble;
  std::mutex mutex;
  for_each_on_cores(again.size(), [&](std::size_t, std::size_t at) {
    const match::KinetoFileJoin& join = analysis.profiles[again[at]];
    metrics::RankGraph& graph = analysis.graphs[again[at]].graph;
    model::KinetoTrace profile;
    const auto error = load::read_kineto_trace(join.path, profile, true);
    const std::lock_guard lock(mutex);  // memory holds one whole graph at a time
    metrics::RankGraph whole;
    std::vector<bool> is_needed;
    if (!error) {
      whole = make_graph(options, analysis, profile, join, [&](const metrics::RankGraph& made) {
        is_needed = made.nodes.size() == graph.whole_nodes
                        ? metrics::nodes_of(made, needs[again[at]])
                        : std::vector<bool>(made.nodes.size());
        return is_needed;
      });
    }
    if (graph.steps.empty()) {
      whole.steps.clear();  // a recording that is no step, since others have ranges
    }
    if (error || whole.nodes.size() != graph.whole_nodes ||
        whole.steps.size() != graph.steps.size()) {
      trouble = join.path + " changed while it was read" + (error ? ": " + *error : "");
      return;
    }
    for (std::size_t i = 0; i < whole.steps.size(); ++i) {
      whole.steps[i].occurrence = graph.steps[i].occurrence;  // counted over all profiles of a rank
    }
    graph = metrics::part_of(whole, is_needed);
  });
  return trouble;
}

}  // namespace ringside::cli
