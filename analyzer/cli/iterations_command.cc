// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/metrics/iterations.h"
#include "analyzer/report/iterations_report.h"

namespace ringside::cli {
namespace {

struct IterationsOptions : AnalysisOptions {
  bool is_series = false;
  std::size_t period = 0;
};

constexpr char kIterationsExample[] =
    "Training repeats the same operations again and again. This finds what repeats, whatever "
    "comes\n"
    "before, after and now and then in between, and says how long each iteration took.\n"
    "\n"
    "Examples:\n"
    "  ringside iterations traces/                        the slowest, and for whom they waited\n"
    "  ringside iterations --series --format csv traces/  all in their order, to be drawn\n"
    "  ringside iterations --period 12 traces/            of 12 operations, if it chose another\n"
    "\n"
    "docs/metrics.md says what is taken for an iteration.\n"
    "\n";

ExitStatus run_iterations(const IterationsOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const auto found = metrics::find_iterations(analysis->facts(), options.period);
  return print_document(
      report::iterations_document(found, analysis->traces, analysis->matches, options.is_series),
      *analysis, options, kExitOk);
}

}  // namespace

void add_iterations(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<IterationsOptions>();
  CLI::App* const command = app.add_subcommand(
      "iterations", "Find the iterations of the job; say how long each took, and why");
  add_analysis_options(*command, *options);
  command->add_flag("--series", options->is_series,
                    "All iterations in the order of time, instead of the slowest");
  command
      ->add_option("--period", options->period,
                   "An iteration has so many operations of one rank; 0: find that out")
      ->capture_default_str();
  set_command(*command, kIterationsExample, options, chosen, run_iterations);
}

}  // namespace ringside::cli
