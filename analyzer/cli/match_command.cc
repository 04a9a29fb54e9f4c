// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/report/match_report.h"

namespace ringside::cli {
namespace {

struct MatchOptions : AnalysisOptions {
  std::size_t mismatch_cap = 10;  // operations of one communicator that are described
};

constexpr char kMatchExample[] =
    "Examples:\n"
    "  ringside match traces/                    which operations do not match, and whose fault\n"
    "  ringside match --mismatch-cap 1 traces/   only the first of each communicator\n"
    "  ringside match --format csv traces/       a line for each side of each mismatch\n"
    "\n"
    "The gravest come first, and of these the earliest: it is often the cause of the others.\n"
    "docs/metrics.md defines the verdicts.\n"
    "\n";

constexpr char kCommunicatorsExample[] =
    "Examples:\n"
    "  ringside communicators traces/                 who is in which communicator\n"
    "  ringside communicators --format csv traces/    for a script\n"
    "\n";

ExitStatus run_match(const MatchOptions& options) {
  const auto analysis = analyse(options);
  return analysis == nullptr
             ? kExitNoInput
             : print_document(report::match_document(analysis->traces, analysis->matches,
                                                     analysis->alignment, options.mismatch_cap),
                              *analysis, options, kExitOk);
}

ExitStatus run_communicators(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  return analysis == nullptr
             ? kExitNoInput
             : print_document(report::communicators_document(analysis->traces, analysis->matches),
                              *analysis, options, kExitOk);
}

}  // namespace

void add_match(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<MatchOptions>();
  CLI::App* const command = app.add_subcommand(
      "match", "Say which operations do not match between the ranks, and which ranks are odd");
  add_analysis_options(*command, *options);
  command
      ->add_option("--mismatch-cap", options->mismatch_cap,
                   "Describe so many operations of each communicator; all are counted")
      ->capture_default_str();
  set_command(*command, kMatchExample, options, chosen, run_match);
}

void add_communicators(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App* const command = app.add_subcommand(
      "communicators", "List the communicators: their ranks, hosts, and which is inside which");
  add_analysis_options(*command, *options);
  set_command(*command, kCommunicatorsExample, options, chosen, run_communicators);
}

}  // namespace ringside::cli
