// SPDX-License-Identifier: Apache-2.0
//
// Questions of one's own: SQL over the tables of `ringside export`, and views for those that are
// asked most.
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_QUERY_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_QUERY_H

#include <memory>
#include <span>
#include <string>

#include "analyzer/report/document/document.h"
#include "analyzer/report/export/export_sink.h"

namespace ringside::report {

struct View {
  const char* name;
  const char* meaning;  // for a person
  const char* sql;      // a SELECT
};

/// The views that a query may name, besides the tables of docs/database.md.
std::span<const View> query_views();

/// The tables and views in memory. Rows are added first; finish() makes them ready to be asked.
class QueryDatabase : public ExportSink {
 public:
  /// Returns the trouble with a query, as a sentence with what helps; empty if it can be answered.
  /// A query is one SELECT that changes nothing. This needs no rows.
  virtual std::string trouble_with(const std::string& sql) = 0;

  /// The answer, with at most so many rows (0: all), and numbers as people read them or whole.
  /// Columns whose names end with `_ns` are durations, those that end with `bytes` are sizes. A
  /// query that fails sets error().
  virtual Table answer(const std::string& sql, std::size_t most_rows, bool is_for_people) = 0;
};

/// Nothing in a build without SQLite.
std::unique_ptr<QueryDatabase> make_query_database();

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_QUERY_H
