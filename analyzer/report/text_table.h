// SPDX-License-Identifier: Apache-2.0
//
// A table of text cells, as aligned columns or as Markdown.
#ifndef RINGSIDE_ANALYZER_REPORT_TEXT_TABLE_H
#define RINGSIDE_ANALYZER_REPORT_TEXT_TABLE_H

#include <string>
#include <vector>

namespace ringside::report {

struct Column {
  std::string title;
  std::string unit;  // shown below the title; may be empty
  bool is_number = false;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Columns two spaces apart, numbers to the right, each line indented by `indent` spaces. Units
  /// have a line of their own, if there are any.
  std::string aligned(std::size_t indent) const;
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_TEXT_TABLE_H
