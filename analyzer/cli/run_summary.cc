// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_summary.h"

#include <algorithm>
#include <utility>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/health.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary.h"
#include "launch/text.h"

namespace ringside::cli {
namespace {

// Keeps the rows that took the most time, in their order. Returns how many rows it left out.
std::size_t keep_longest(std::vector<metrics::Row>& rows, std::size_t top) {
  if (top == 0 || rows.size() <= top) {
    return 0;
  }
  const auto time_ns = [](const metrics::Row& row) {
    return row.busy ? row.busy->median.best * static_cast<double>(row.count) : 0.0;
  };
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return time_ns(rows[a]) > time_ns(rows[b]);
  });
  order.resize(top);
  std::sort(order.begin(), order.end());
  std::vector<metrics::Row> kept;
  kept.reserve(order.size());
  for (const std::size_t i : order) {
    kept.push_back(std::move(rows[i]));
  }
  const std::size_t left_out = rows.size() - kept.size();
  rows = std::move(kept);
  return left_out;
}

}  // namespace

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
  std::size_t left_out = 0;
  for (metrics::CommunicatorRows& communicator : summary.rows) {
    left_out += keep_longest(communicator.rows, top);
  }
  std::string text = report::summary_as_table(summary, false, columns);
  if (left_out > 0) {
    text += report::counted(left_out, "row") + " of less time left out (--top " +
            std::to_string(top) + "); `ringside summary " + input + "` has all.\n";
  }
  return has_next ? text + next_lines(health) : text;
}

}  // namespace ringside::cli
