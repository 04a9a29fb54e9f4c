// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_summary.h"

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/health.h"
#include "analyzer/report/summary/summary.h"
#include "launch/text.h"

namespace ringside::cli {

std::string run_summary(const std::vector<std::string>& traces, std::size_t top,
                        const std::string& directory, std::size_t columns, bool has_next) {
  AnalysisOptions options;
  options.inputs = traces;
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return {};
  }
  const BeforeFacts before = look_before_facts(options, *analysis);
  report::Summary summary = analysis->summary(true);
  report::Health health = find_health(before, *analysis, summary);
  const std::string input = launch::shell_word(directory);
  report::add_commands(input, input, input, health);
  summary.health = &health;
  summary.most_rows = top;
  const std::string text = report::summary_as_table(summary, false, columns);
  return has_next ? text + next_lines(health) : text;
}

}  // namespace ringside::cli
