// SPDX-License-Identifier: Apache-2.0
//
// The tables of `ringside export` in an SQLite database: a file, or memory.
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_SQLITE_TABLES_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_SQLITE_TABLES_H

#include <array>
#include <span>
#include <sqlite3.h>
#include <string>

#include "analyzer/report/export/export_sink.h"

namespace ringside::report {

/// After the first failure nothing is done any more, and error() is what SQLite says.
class SqliteTables {
 public:
  SqliteTables() = default;
  SqliteTables(const SqliteTables&) = delete;
  SqliteTables& operator=(const SqliteTables&) = delete;
  ~SqliteTables() { close(); }

  /// Makes the empty tables, and begins a transaction. `path`: of a new file, or ":memory:".
  void create(const std::string& path);
  void add(ExportTableId table, std::span<const ExportValue> values);
  /// Runs statements that answer nothing.
  void run(const std::string& sql);
  /// Makes the indices, and ends the transaction.
  void finish();
  void close();

  sqlite3* database() const { return database_; }
  const std::string& error() const { return error_; }

 private:
  void fail();

  sqlite3* database_ = nullptr;
  std::array<sqlite3_stmt*, kExportTableCount> statements_{};
  std::string error_;
};

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_SQLITE_TABLES_H
