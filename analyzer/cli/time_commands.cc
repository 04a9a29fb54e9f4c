// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/report/time_report.h"

namespace ringside::cli {
namespace {

constexpr char kOverlapExample[] =
    "How much of each rank's time operations run, how much of that is waiting for other ranks, "
    "and\n"
    "which communicators run at the same time.\n"
    "\n"
    "Examples:\n"
    "  ringside overlap traces/\n"
    "  ringside overlap --format csv --table pairs traces/   communicators against each other\n"
    "\n";

constexpr char kCriticalPathExample[] =
    "Follows the run from its last operation back to its first: an operation waits for the rank "
    "that\n"
    "comes last, that rank for its own operation before. Where the time of that chain went, and "
    "what\n"
    "would be gained if a rank were not late.\n"
    "\n"
    "Examples:\n"
    "  ringside critical-path traces/\n"
    "  ringside critical-path --from 10 --to 12 traces/   of two seconds\n"
    "\n";

ExitStatus run_overlap(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const metrics::Overlap found = metrics::find_overlap(analysis->facts());
  return print_document(report::overlap_document(found, analysis->matches), *analysis, options,
                        kExitOk);
}

ExitStatus run_critical_path(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const metrics::CriticalPath found = metrics::find_critical_path(analysis->facts());
  return print_document(report::critical_path_document(found, analysis->traces, analysis->matches),
                        *analysis, options, kExitOk);
}

}  // namespace

void add_overlap(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand(
      "overlap", "Say how long communication runs, and which communicators run at once");
  add_analysis_options(*command, *options);
  set_command(*command, kOverlapExample, options, chosen, run_overlap);
}

void add_critical_path(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand(
      "critical-path", "Follow the longest chain over all ranks, and say where its time went");
  add_analysis_options(*command, *options);
  set_command(*command, kCriticalPathExample, options, chosen, run_critical_path);
}

}  // namespace ringside::cli
