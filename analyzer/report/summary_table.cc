// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/printable.h"
#include "analyzer/report/align_report.h"
#include "analyzer/report/summary.h"
#include "analyzer/report/summary_text.h"

namespace ringside::report {
namespace {

// Names come from the application and would otherwise be markup.
std::string markdown_text(const std::string& text) {
  std::string result;
  for (const char c : model::printable(text)) {
    if (c == '*' || c == '_' || c == '`' || c == '<' || c == '[' || c == '\\' || c == '#') {
      result += '\\';
    }
    result += c;
  }
  return result;
}

}  // namespace

std::string summary_as_table(const Summary& summary, bool with_clocks, std::size_t screen_columns) {
  std::string text;
  for (const std::string& line : input_lines(summary)) {
    text += wrapped(line, screen_columns);
  }
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    text += '\n' + wrapped("Communicator " + communicator_title(summary.communicators[i]), 0);
    for (const std::string& line : communicator_lines(summary.communicators[i], summary.rows[i])) {
      text += wrapped("  " + line, screen_columns);
    }
    if (!summary.rows[i].rows.empty()) {
      text += render_table(rows_table(summary.rows[i], summary.by_range, summary.with_intervals),
                           false, screen_columns);
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
  for (const std::string& line : input_lines(summary)) {
    text += "- " + markdown_text(line) + '\n';
  }
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    text +=
        "\n## Communicator " + markdown_text(communicator_title(summary.communicators[i])) + "\n\n";
    const auto lines = communicator_lines(summary.communicators[i], summary.rows[i]);
    for (const std::string& line : lines) {
      const bool is_nested = line.starts_with("  ");
      text += (is_nested ? "  - " : "- ") + markdown_text(is_nested ? line.substr(2) : line) + '\n';
    }
    if (!summary.rows[i].rows.empty()) {
      text +=
          (lines.empty() ? "" : "\n") +
          render_table(rows_table(summary.rows[i], summary.by_range, summary.with_intervals), true);
    }
  }
  text += summary.communicators.empty() ? "\nNo operations.\n" : "\n";
  if (!summary.communicators.empty()) {
    for (const std::string& line : footer_lines(summary)) {
      text += "- " + markdown_text(line) + '\n';
    }
  }
  if (with_clocks) {
    text += '\n' + render_table(alignment_table(*summary.alignment), true);
  }
  return text;
}

}  // namespace ringside::report
