// SPDX-License-Identifier: Apache-2.0
//
// The columns of a table, each with its value of a row: one list from which all formats come.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_COLUMNS_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_COLUMNS_H

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/report/document/document.h"

namespace ringside::report {

/// A column and what it has of a row: a member of it, or a function.
template <typename Row>
struct ColumnOf {
  template <typename Value>
  ColumnOf(CellColumn column, Value value_of)
      : head(std::move(column)),
        value([value_of](const Row& row) { return cell_of(std::invoke(value_of, row)); }) {}
  template <typename Value>
  ColumnOf(std::string key, std::string title, Shown shown, std::string unit, int decimals,
           Value value_of)
      : ColumnOf({std::move(key), std::move(title), shown, std::move(unit), decimals}, value_of) {}
  template <typename Value>
  ColumnOf(std::string key, std::string title, Shown shown, std::string unit, Value value_of)
      : ColumnOf({std::move(key), std::move(title), shown, std::move(unit)}, value_of) {}
  template <typename Value>
  ColumnOf(std::string key, std::string title, Shown shown, Value value_of)
      : ColumnOf({std::move(key), std::move(title), shown}, value_of) {}
  template <typename Value>
  ColumnOf(std::string key, std::string title, Value value_of)
      : ColumnOf({std::move(key), std::move(title)}, value_of) {}
  template <typename Value>  // for programs alone
  ColumnOf(std::string key, int decimals, Value value_of)
      : ColumnOf({std::move(key), {}, Shown::kNot, {}, decimals}, value_of) {}

  CellColumn head;
  std::function<Cell(const Row&)> value;
};

template <typename Row>
using Columns = std::vector<ColumnOf<Row>>;

/// The column with that key, which has to be there.
template <typename Row>
const ColumnOf<Row>& column_of(const Columns<Row>& columns, std::string_view key) {
  return *std::find_if(columns.begin(), columns.end(),
                       [&](const auto& column) { return column.head.key == key; });
}

/// A table of these rows. Columns that are Shown::kAbsent are not in it.
template <typename Rows>
Table table_of(std::string key, std::string title, const Rows& rows,
               const Columns<typename Rows::value_type>& columns,
               std::vector<std::string> gives_way = {}) {
  Table table{std::move(key), std::move(title), {}};
  table.gives_way = std::move(gives_way);
  table.rows.resize(rows.size());
  for (const auto& column : columns) {
    if (column.head.shown != Shown::kAbsent) {
      table.columns.push_back(column.head);
      auto cells = table.rows.begin();
      for (const auto& row : rows) {
        (cells++)->push_back(column.value(row));
      }
    }
  }
  return table;
}

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_COLUMNS_H
