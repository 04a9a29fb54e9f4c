// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/sqlite_tables.h"

namespace ringside::report {
namespace {

int bind(sqlite3_stmt* statement, int place, const ExportValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return sqlite3_bind_int64(statement, place, *integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return sqlite3_bind_double(statement, place, *number);
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    // The text outlives the step that follows. An empty view may have no address, which would be
    // NULL.
    return sqlite3_bind_text64(statement, place, text->empty() ? "" : text->data(), text->size(),
                               SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, place);
}

}  // namespace

void SqliteTables::create(const std::string& path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    fail();
    return;
  }
  // A crash leaves a file that nobody will open, so nothing guards against one: no journal, no
  // fsync before the file has its name.
  run("PRAGMA journal_mode = OFF");
  run("PRAGMA synchronous = OFF");
  run("PRAGMA foreign_keys = OFF");  // the order of the rows keeps them
  run("BEGIN");
  for (std::size_t i = 0; i < kExportTableCount; ++i) {
    const ExportTable& table = export_tables()[i];
    std::string columns;
    std::string places;
    for (const ExportColumn& column : table.columns) {
      columns += (columns.empty() ? "\"" : ", \"") + std::string(column.name) + "\" " + column.type;
      places += places.empty() ? "?" : ", ?";
    }
    run("CREATE TABLE " + std::string(table.name) + '(' + columns + ')');
    const std::string insert = "INSERT INTO " + std::string(table.name) + " VALUES(" + places + ')';
    if (error_.empty() &&
        sqlite3_prepare_v3(database_, insert.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                           &statements_[i], nullptr) != SQLITE_OK) {
      fail();
    }
  }
}

void SqliteTables::add(ExportTableId table, std::span<const ExportValue> values) {
  if (!error_.empty()) {
    return;
  }
  sqlite3_stmt* const statement = statements_[static_cast<std::size_t>(table)];
  int status = SQLITE_OK;
  for (std::size_t i = 0; i < values.size() && status == SQLITE_OK; ++i) {
    status = bind(statement, static_cast<int>(i) + 1, values[i]);
  }
  if (status != SQLITE_OK || sqlite3_step(statement) != SQLITE_DONE ||
      sqlite3_reset(statement) != SQLITE_OK) {
    fail();
  }
}

void SqliteTables::run(const std::string& sql) {
  if (error_.empty() &&
      sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail();
  }
}

void SqliteTables::finish() {
  for (const ExportTable& table : export_tables()) {
    std::size_t number = 0;
    for (const char* const columns : table.indexed) {
      run("CREATE INDEX " + std::string(table.name) + "_index_" + std::to_string(++number) +
          " ON " + table.name + '(' + columns + ')');
    }
  }
  run("COMMIT");
  run("ANALYZE");
}

void SqliteTables::fail() {
  error_ = database_ != nullptr ? sqlite3_errmsg(database_) : "out of memory";
}

void SqliteTables::close() {
  for (sqlite3_stmt*& statement : statements_) {
    sqlite3_finalize(statement);
    statement = nullptr;
  }
  sqlite3_close(database_);
  database_ = nullptr;
}

}  // namespace ringside::report
