// SPDX-License-Identifier: Apache-2.0
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
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    text += '\n' + wrapped("Communicator " + communicator_title(summary.communicators[i]), 0);
    for (const std::string& line : communicator_lines(summary.communicators[i], summary.rows[i])) {
      text += wrapped("  " + line, screen_columns);
    }
    if (!summary.rows[i].rows.empty()) {
      text += render_table(rows_table(summary, i), false, screen_columns);
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
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    text +=
        "\n## Communicator " + markdown_text(communicator_title(summary.communicators[i])) + "\n\n";
    const auto lines = communicator_lines(summary.communicators[i], summary.rows[i]);
    text += markdown_list(lines);
    if (!summary.rows[i].rows.empty()) {
      text += (lines.empty() ? "" : "\n") + render_table(rows_table(summary, i), true);
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
