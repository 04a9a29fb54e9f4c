// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/metrics/stragglers.h"
#include "analyzer/report/stragglers_report.h"

namespace ringside::cli {
namespace {

constexpr char kStragglersExample[] =
    "Ranks wait for each other in collectives, sends and receives. This says for whom, what part "
    "of\n"
    "all ranks' time that costs, and whether it is more than chance, on one clock for all hosts.\n"
    "\n"
    "Examples:\n"
    "  ringside stragglers traces/\n"
    "  ringside stragglers --comm world --from 60 traces/   after the first minute\n"
    "  ringside stragglers --align-report traces/           with the clocks of the hosts\n"
    "\n";

ExitStatus run_stragglers(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const metrics::Stragglers found = metrics::find_stragglers(analysis->facts());
  return print_document(report::stragglers_document(found, analysis->matches), *analysis, options,
                        kExitOk);
}

}  // namespace

void add_stragglers(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand(
      "stragglers", "Say which rank or host is late, and what it costs the others");
  add_analysis_options(*command, *options);
  set_command(*command, kStragglersExample, options, chosen, run_stragglers);
}

}  // namespace ringside::cli
