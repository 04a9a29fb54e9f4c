// SPDX-License-Identifier: Apache-2.0
//
// Judges the traces that were analysed: `summary`, `run` and `report` say first what is wrong.
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_HEALTH_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_HEALTH_H

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/report/summary/health.h"

namespace ringside::cli {

/// The results that must be found before the facts of an analysis are.
struct BeforeFacts {
  /// The document of `ringside hang`, which takes other files of a run: those of the latest moment.
  /// Nothing if no operation is in flight.
  std::optional<report::Document> stuck;
  std::uint64_t not_chosen = 0;  // transfers of operations that were not chosen; they are taken out
};
BeforeFacts look_before_facts(const AnalysisOptions& options, Analysis& analysis);

/// Judges the analysis. The commands of its findings have no inputs yet.
report::Health find_health(const BeforeFacts& before, const Analysis& analysis,
                           const report::Summary& summary);

/// Gives the findings their commands, with the options that choose a part and the inputs, as the
/// user gave them to `command`, and `analysis` has read them.
void add_commands(const CLI::App& command, const AnalysisOptions& options, const Analysis& analysis,
                  report::Health& health);

/// On terminals: what to do next.
std::string next_lines(const report::Health& health);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_HEALTH_H
