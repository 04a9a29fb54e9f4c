// SPDX-License-Identifier: Apache-2.0
//
// The tables of `ringside export` go to a sink: a database, a file of JSON, or a directory of CSV
// files. All are written under a temporary name first: a file that has its own name is whole.
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_SINK_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_SINK_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "analyzer/report/export/export_schema.h"

namespace ringside::report {

/// Nothing: NULL, and an empty field of CSV. Texts are of the caller.
using ExportValue = std::variant<std::monostate, std::int64_t, double, std::string_view>;

/// After the first failure nothing is written any more; finish() says false, and error() why.
class ExportSink {
 public:
  virtual ~ExportSink() = default;
  ExportSink() = default;
  ExportSink(const ExportSink&) = delete;
  ExportSink& operator=(const ExportSink&) = delete;

  /// A row of the table, with a value for each of its columns. Rows that others refer to come
  /// first.
  virtual void add(ExportTableId table, std::span<const ExportValue> values) = 0;

  /// Makes what was written durable and gives it its name.
  virtual bool finish() = 0;

  /// Says what went wrong, as a sentence with the path; empty if nothing did.
  const std::string& error() const { return error_; }

 protected:
  std::string error_;
};

/// Each replaces what is there only if `replaces`. A build without SQLite has no database: the sink
/// says so as its error.
std::unique_ptr<ExportSink> make_sqlite_sink(const std::string& path, bool replaces);
std::unique_ptr<ExportSink> make_csv_sink(const std::string& directory, bool replaces);
/// By table: the names of its `columns`, and `rows` of their values.
std::unique_ptr<ExportSink> make_json_sink(const std::string& path, bool replaces);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_SINK_H
