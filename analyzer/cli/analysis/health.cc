// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/health.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/metrics/hang/hang_selection.h"
#include "analyzer/metrics/machine/topology.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/report/hang/hang_report.h"
#include "analyzer/report/hang/run_ends.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/network_report.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/topology_report.h"
#include "launch/text.h"

namespace ringside::cli {
namespace {

std::optional<report::Document> find_stuck(const AnalysisOptions& options,
                                           const Analysis& analysis) {
  constexpr std::int64_t kLeastAge_ns = 1'000'000'000;
  constexpr std::size_t kRows = 200;
  Analysis again;
  const Analysis* used = &analysis;
  if (!analysis.duplicates.empty()) {
    const load::Inputs inputs = load::find_inputs(options.inputs, again.problems, options.dumps);
    again.traces = load::load_traces(inputs.paths, again.problems, 0, load::kRangeBytes, nullptr,
                                     options.dumps);
    metrics::keep_latest_files(again.traces);
    match::select_files(options.selection, again.traces);
    align_clocks(options, again);
    used = &again;
  }
  const auto& files = used->traces.files;
  const bool has_in_flight = std::any_of(
      files.begin(), files.end(),
      [](const model::TraceFile& file) { return file.operations.may_have_in_flight(); });
  if (!has_in_flight && std::none_of(files.begin(), files.end(), [](const auto& file) {
        return file.recovered || (file.end && file.end->status.value_or(0) != 0);
      })) {
    return std::nullopt;
  }
  metrics::Hang hang = metrics::find_hang(used->traces, used->alignment, kLeastAge_ns);
  metrics::choose_communicators(options.selection, hang);
  report::Document document = report::make_hang_report(used->traces, used->alignment, hang, kRows);
  for (const report::RunEnds& run :
       report::find_run_ends(used->traces, used->alignment, hang.matches.runs.runs)) {
    const bool is_first = report::explains(run, hang);
    document.findings.insert(
        is_first ? document.findings.begin() : document.findings.end(),
        {run.first < run.ends.size() ? report::Severity::kError : report::Severity::kWarning,
         "recovered", run.text});
  }
  if (document.findings.empty() && has_in_flight) {
    document.findings.push_back(
        {report::Severity::kNote, "in-flight",
         "operations were still running at the end of their traces; none appears to be stuck"});
  }
  return document;
}

}  // namespace

BeforeFacts look_before_facts(const AnalysisOptions& options, Analysis& analysis) {
  // This comes first, since an operation in flight is not among those that were chosen.
  BeforeFacts before{find_stuck(options, analysis)};
  if (match::chooses_operations(options.selection)) {
    before.not_chosen = match::select_transfers(analysis.matches, analysis.traces);
  }
  return before;
}

report::Health find_health(const BeforeFacts& before, const Analysis& analysis,
                           const report::Summary& summary) {
  const model::Traces& traces = analysis.traces;
  metrics::Network network = analysis.network();
  network.not_chosen = before.not_chosen;
  const bool is_all_read = report::count_unread(traces, analysis.problems) == 0;
  return report::judge_health(
      summary, analysis.replays(), analysis.matches, before.stuck,
      report::make_network_report(traces, network, 0, false), network.has_unjudged_links(),
      report::match_document(traces, analysis.matches, analysis.facts().judgements(),
                             report::kMostJudged, false, is_all_read),
      report::topology_document(metrics::find_topology(traces), true, std::nullopt));
}

void add_commands(const CLI::App& command, const AnalysisOptions& options, const Analysis& analysis,
                  report::Health& health) {
  // A partial has no lines to merge.
  health.has_timeline = health.has_timeline && load::first_partial(analysis.inputs).empty();
  std::string all;
  std::string of_hang;
  bool has_moments = false;
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name();
    const bool is_flag = name == "--no-align";
    if (option->count() == 0 ||
        (option->get_group() != kSelectionGroup && !is_flag && name != "--clock-error")) {
      continue;
    }
    const bool has_hang = name != "--func" && name != "--min-bytes" && name != "--user-tag" &&
                          name != "--from" && name != "--to";
    has_moments = has_moments || name == "--from" || name == "--to";
    for (const std::string& value : option->results()) {
      const std::string text = name + (is_flag ? "" : ' ' + launch::shell_word(value)) + ' ';
      all += text;
      of_hang += has_hang ? text : "";
    }
  }
  std::string inputs;
  for (const std::string& input : options.inputs) {
    // A name that begins with - would be taken for an option.
    inputs += (inputs.empty() ? "" : " ") +
              launch::shell_word(input.starts_with('-') ? "./" + input : input);
  }
  for (report::HealthFinding& one : health.findings) {
    // A group of a profile has a name of several words.
    std::string& around = one.finding.around;
    around = around.empty() ? "" : launch::shell_word(around);
  }
  report::add_commands(all + inputs, of_hang + inputs, inputs, health);
  if (has_moments) {
    health.merge_command.clear();  // it has moments of its own
  }
}

std::string next_lines(const report::Health& health) {
  return "\nNext: " + health.report_command + "\n";
}

}  // namespace ringside::cli
