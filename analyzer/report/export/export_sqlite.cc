// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/report/export/export_sink.h"
#include "analyzer/report/export/unfinished_file.h"

namespace ringside::report {
namespace {

class SqliteSink : public ExportSink {
 public:
  SqliteSink(const std::string& path, bool replaces)
      : path_(path), temporary_(path + '.' + std::to_string(::getpid()) + ".tmp") {
    if (!replaces && ::access(path.c_str(), F_OK) == 0) {
      error_ = path + " is there already; --force replaces it";
      return;
    }
    struct stat there {};
    if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
      error_ = path + " is not a file, so it is not replaced";
      return;
    }
    std::remove(temporary_.path().c_str());
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(temporary_.path().c_str(), &database_, flags, nullptr) != SQLITE_OK) {
      fail();
      return;
    }
    // A crash leaves a file that nobody will open, so nothing guards against one: no journal, no
    // fsync before finish().
    run("PRAGMA journal_mode = OFF");
    run("PRAGMA synchronous = OFF");
    run("PRAGMA foreign_keys = OFF");  // checked as a whole in finish()
    run("BEGIN");
    for (std::size_t i = 0; i < kExportTableCount; ++i) {
      create(export_tables()[i], statements_[i]);
    }
  }

  ~SqliteSink() override { close(); }

  void add(ExportTableId table, std::span<const ExportValue> values) override {
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

  bool finish() override {
    for (const ExportTable& table : export_tables()) {
      std::size_t number = 0;
      for (const char* const columns : table.indexed) {
        run("CREATE INDEX " + std::string(table.name) + "_index_" + std::to_string(++number) +
            " ON " + table.name + '(' + columns + ')');
      }
    }
    run("COMMIT");
    run("ANALYZE");
    if (!error_.empty()) {
      return false;
    }
    close();
    const int file = ::open(temporary_.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_durable = file >= 0 && ::fsync(file) == 0;
    if (file >= 0) {
      ::close(file);
    }
    if (!is_durable || std::rename(temporary_.path().c_str(), path_.c_str()) != 0) {
      error_ = "cannot write " + path_ + ": " + std::strerror(errno);
      return false;
    }
    temporary_.forget();
    return true;
  }

 private:
  static int bind(sqlite3_stmt* statement, int place, const ExportValue& value) {
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

  void create(const ExportTable& table, sqlite3_stmt*& statement) {
    std::string columns;
    std::string places;
    for (const ExportColumn& column : table.columns) {
      columns += (columns.empty() ? "\"" : ", \"") + std::string(column.name) + "\" " + column.type;
      places += places.empty() ? "?" : ", ?";
    }
    run("CREATE TABLE " + std::string(table.name) + '(' + columns + ')');
    const std::string insert = "INSERT INTO " + std::string(table.name) + " VALUES(" + places + ')';
    if (error_.empty() &&
        sqlite3_prepare_v3(database_, insert.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement,
                           nullptr) != SQLITE_OK) {
      fail();
    }
  }

  void run(const std::string& sql) {
    if (error_.empty() &&
        sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      fail();
    }
  }

  void fail() {
    error_ = "cannot write " + path_ + ": " +
             (database_ != nullptr ? sqlite3_errmsg(database_) : "out of memory");
  }

  void close() {
    for (sqlite3_stmt*& statement : statements_) {
      sqlite3_finalize(statement);
      statement = nullptr;
    }
    sqlite3_close(database_);
    database_ = nullptr;
  }

  std::string path_;
  UnfinishedFile temporary_;
  sqlite3* database_ = nullptr;
  std::array<sqlite3_stmt*, kExportTableCount> statements_{};
};

}  // namespace

std::unique_ptr<ExportSink> make_sqlite_sink(const std::string& path, bool replaces) {
  return std::make_unique<SqliteSink>(path, replaces);
}

}  // namespace ringside::report
