// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/alike.h"
#include "analyzer/report/document/text_table.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/health.h"
#include "analyzer/report/summary/summary.h"
#include "analyzer/report/summary/summary_text.h"

namespace ringside::report {
namespace {

// A line that begins with two blanks belongs to the one before.
std::string markdown_list(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const bool is_nested = line.starts_with("  ");
    text += (is_nested ? "  - " : "- ") + markdown_text(is_nested ? line.substr(2) : line) + '\n';
  }
  return text;
}

// A table, of one communicator.
struct ShownTable {
  std::string title;
  std::size_t communicator;
  std::vector<std::string> lines;
};

std::vector<ShownTable> shown_tables(const Summary& summary) {
  std::vector<ShownTable> tables;
  std::vector<std::vector<std::string>> lines;
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    lines.push_back(communicator_lines(summary.communicators[i], summary.rows[i]));
  }
  for (const auto& alike : metrics::find_alike(summary.communicators, summary.rows, lines)) {
    const match::Communicator& median = summary.communicators[alike.median];
    if (alike.count == 1) {
      tables.push_back({"Communicator " + communicator_title(median), alike.median,
                        std::move(lines[alike.median])});
      continue;
    }
    std::string title = "Communicators " + alike.kind + "x " + std::to_string(alike.count) + ", " +
                        std::to_string(median.nranks) + " ranks each: ";
    std::string of_median = title;
    of_median.append(alike.slowest ? "the median, " : "as ").append(label_of(median));
    tables.push_back(
        {std::move(of_median), alike.median, {"--comm NAME shows one of them, --format csv all"}});
    if (alike.slowest) {
      title.append("the slowest, ").append(label_of(summary.communicators[*alike.slowest]));
      tables.push_back({std::move(title), *alike.slowest, {}});
    }
  }
  return tables;
}

}  // namespace

std::string summary_as_table(const Summary& summary, bool with_clocks, std::size_t screen_columns) {
  std::string text;
  if (summary.health != nullptr) {
    for (const std::string& line : health_lines(*summary.health)) {
      // A command stays in one piece, to be copied.
      text += wrapped(line, line.starts_with("  ") ? 0 : screen_columns);
    }
    text += '\n';
  }
  for (const std::string& line : input_lines(summary)) {
    text += wrapped(line, screen_columns);
  }
  for (const ShownTable& shown : shown_tables(summary)) {
    text += '\n' + wrapped(shown.title, 0);
    for (const std::string& line : shown.lines) {
      text += wrapped("  " + line, screen_columns);
    }
    if (!summary.rows[shown.communicator].rows.empty()) {
      text += render_table(rows_table(summary, shown.communicator), false, screen_columns);
    }
  }
  text += summary.communicators.empty() ? "\nNo operations.\n" : "\n";
  if (!summary.communicators.empty()) {
    for (const std::string& line : footer_lines(summary)) {
      text += wrapped(line, screen_columns);
    }
  }
  if (with_clocks) {
    text += '\n' + render_table(alignment_table(*summary.alignment), false, screen_columns);
  }
  return text;
}

std::string summary_as_markdown(const Summary& summary, bool with_clocks) {
  std::string text = "# Ringside summary\n\n";
  if (summary.health != nullptr) {
    text += markdown_list(health_lines(*summary.health)) + "\n## Traces\n\n";
  }
  text += markdown_list(input_lines(summary));
  for (const ShownTable& shown : shown_tables(summary)) {
    text += "\n## " + markdown_text(shown.title) + "\n\n" + markdown_list(shown.lines);
    if (!summary.rows[shown.communicator].rows.empty()) {
      text += (shown.lines.empty() ? "" : "\n") +
              render_table(rows_table(summary, shown.communicator), true);
    }
  }
  text += summary.communicators.empty() ? "\nNo operations.\n" : "\n";
  if (!summary.communicators.empty()) {
    text += markdown_list(footer_lines(summary));
  }
  if (with_clocks) {
    text += '\n' + render_table(alignment_table(*summary.alignment), true);
  }
  return text;
}

}  // namespace ringside::report
