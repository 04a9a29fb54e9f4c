// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/report/network_report.h"

namespace ringside::cli {
namespace {

constexpr char kNetworkExample[] =
    "Record with RINGSIDE_EVENTS=default,steps: only steps separate waiting from transferring.\n\n"
    "Examples:\n"
    "  ringside network traces/\tslow links, waiting, and the matrix\n"
    "  ringside network --format csv traces/\tall links, for a script\n"
    "  ringside network --format csv --table matrix traces/\tranks against ranks\n"
    "  ringside network --func AllReduce --min-bytes 64mb traces/\n";

ExitStatus run_network(const AnalysisOptions& options) {
  Analysis analysis;
  if (!load_traces(options, analysis)) {
    return kExitNoInput;
  }
  leave_out_duplicates(analysis);
  if (!choose_traces(options, analysis)) {
    return kExitNoInput;
  }
  align_clocks(options, analysis);
  std::uint64_t not_chosen = 0;
  if (match::chooses_operations(options.selection)) {
    if (!match_chosen(options, analysis)) {
      return kExitNoInput;
    }
    not_chosen = match::select_transfers(analysis.matches, analysis.traces);
  }
  metrics::Network network = analysis.network();
  network.not_chosen = not_chosen;
  report::Document document = report::make_network_report(
      analysis.traces, network, options.most_rows(), options.is_for_people());
  document.notes.insert(document.notes.end(), analysis.duplicates.begin(),
                        analysis.duplicates.end());
  return print_document(std::move(document), analysis, options);
}

}  // namespace

void add_network(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand(
      "network", "Say how fast each link was, what it waited for, and which stand out as slow");
  add_analysis_options(*command, *options);
  set_command(*command, kNetworkExample, {{1, kHasError}, {3, kNothingFits}}, options, chosen,
              run_network);
}

}  // namespace ringside::cli
