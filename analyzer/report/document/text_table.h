// SPDX-License-Identifier: Apache-2.0
//
// A table of text cells, as aligned columns or as Markdown.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_TEXT_TABLE_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_TEXT_TABLE_H

#include <string>
#include <string_view>
#include <vector>

namespace ringside::report {

/// The width of a text on a terminal, in columns.
std::size_t width_of(std::string_view text);

/// Appends a text as a field of a line of CSV, in quotes where it needs them (RFC 4180). What a
/// spreadsheet would take for a formula gets an apostrophe before it, unless it is a number.
void append_csv(std::string& line, std::string_view field);

/// Foreign text for a line or a cell of Markdown, made printable: nothing in it is markup or HTML.
std::string markdown_text(std::string_view foreign);

inline constexpr std::size_t kGivesWayLast = static_cast<std::size_t>(-1);

struct Column {
  std::string title;
  std::string unit;  // shown below the title; may be empty
  bool is_number = false;
  /// The place in the order in which columns give way on a narrow terminal.
  std::size_t gives_way = kGivesWayLast;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column, made printable.
  void add_row(std::vector<std::string> cells);

  /// Columns two spaces apart, numbers to the right, each line indented by `indent` spaces. Units
  /// have a line of their own, if there are any. If lines would be longer than `most_columns` (0:
  /// any length), the longest texts lose their middle, provided that this is enough; numbers, and
  /// texts of up to 14 characters, are never cut. If it is not enough and `left_out` is there,
  /// columns give way, those with the least `gives_way` first, and then the last ones, but for the
  /// first three. Their titles go into `left_out`, in the order of the table.
  std::string aligned(std::size_t indent, std::size_t most_columns = 0,
                      std::vector<std::string>* left_out = nullptr) const;
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Breaks a line between words where it is longer than `most_columns` (0: never); what follows is
/// indented by two spaces more than the line is. Ends with a newline. The line is made printable.
std::string wrapped(const std::string& foreign, std::size_t most_columns);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_TEXT_TABLE_H
