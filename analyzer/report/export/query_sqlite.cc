// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "analyzer/report/document/numbers.h"
#include "analyzer/report/export/query.h"
#include "analyzer/report/export/sqlite_tables.h"

namespace ringside::report {
namespace {

// duration(ns) and size(bytes): the texts that tables have.
void answer_duration(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) != SQLITE_NULL) {
    const std::string text = human_duration(sqlite3_value_double(values[0]));
    sqlite3_result_text(context, text.c_str(), -1, SQLITE_TRANSIENT);
  }
}

void answer_size(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) != SQLITE_NULL && sqlite3_value_int64(values[0]) >= 0) {
    const auto bytes = static_cast<std::uint64_t>(sqlite3_value_int64(values[0]));
    const std::string text = human_bytes(bytes);
    sqlite3_result_text(context, text.c_str(), -1, SQLITE_TRANSIENT);
  }
}

// Nothing that opens a file or changes a table.
int permit(void* /*unused*/, int action, const char* /*first*/, const char* /*second*/,
           const char* /*database*/, const char* /*trigger*/) {
  return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
                 action == SQLITE_RECURSIVE
             ? SQLITE_OK
             : SQLITE_DENY;
}

class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql) {
    status_ = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, &rest_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  sqlite3_stmt* get() const { return statement_; }
  int status() const { return status_; }
  bool has_more() const {
    return std::string_view(rest_).find_first_not_of("; \t\r\n") != std::string_view::npos;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  const char* rest_ = "";
  int status_ = SQLITE_OK;
};

Cell cell_in(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: {
      const std::int64_t number = sqlite3_column_int64(statement, column);
      return number < 0 ? Cell(number) : Cell(static_cast<std::uint64_t>(number));
    }
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return {};
    default: {
      const auto* const text = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const int bytes = sqlite3_column_bytes(statement, column);
      return std::string(text == nullptr ? "" : text, static_cast<std::size_t>(bytes));
    }
  }
}

// How the numbers of a column are shown, by its name and its first value.
Shown shown_as(const std::string& name, const std::vector<std::vector<Cell>>& rows,
               std::size_t column) {
  const auto first = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
    return !std::holds_alternative<std::monostate>(row[column]);
  });
  const bool is_text = first == rows.end() || std::holds_alternative<std::string>((*first)[column]);
  return is_text                                            ? Shown::kText
         : name.ends_with("_ns")                            ? Shown::kDuration
         : name.ends_with("bytes")                          ? Shown::kBytes
         : std::holds_alternative<double>((*first)[column]) ? Shown::kNumber
                                                            : Shown::kInteger;
}

class SqliteQueries : public QueryDatabase {
 public:
  SqliteQueries() {
    tables_.create(":memory:");
    for (const View& view : query_views()) {
      tables_.run("CREATE VIEW " + std::string(view.name) + " AS " + view.sql);
    }
    if (tables_.error().empty()) {
      constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
      sqlite3_create_function(tables_.database(), "duration", 1, kFlags, nullptr, answer_duration,
                              nullptr, nullptr);
      sqlite3_create_function(tables_.database(), "size", 1, kFlags, nullptr, answer_size, nullptr,
                              nullptr);
    }
    error_ = tables_.error();
  }

  void add(ExportTableId table, std::span<const ExportValue> values) override {
    tables_.add(table, values);
    error_ = tables_.error();
  }

  bool finish() override {
    tables_.finish();
    error_ = tables_.error();
    return error_.empty();
  }

  std::string trouble_with(const std::string& sql) override {
    const Guard guard(tables_.database());
    const Statement statement(tables_.database(), sql);
    if (statement.status() == SQLITE_AUTH) {
      return "only SELECT is possible here; `ringside export --sqlite FILE` makes a database to "
             "change";
    }
    if (statement.status() != SQLITE_OK) {
      return sqlite3_errmsg(tables_.database());
    }
    return statement.get() == nullptr ? "the query is empty"
           : statement.has_more()     ? "give one query at a time"
                                      : "";
  }

  Table answer(const std::string& sql, std::size_t most_rows, int decimals) override {
    Table table{"rows", "", {}, {}};
    const Guard guard(tables_.database());
    const Statement statement(tables_.database(), sql);
    const int columns = sqlite3_column_count(statement.get());
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(statement.get())) == SQLITE_ROW) {
      if (most_rows > 0 && table.rows.size() == most_rows) {
        ++table.left_out;
        continue;
      }
      std::vector<Cell>& row = table.rows.emplace_back();
      for (int i = 0; i < columns; ++i) {
        row.push_back(cell_in(statement.get(), i));
      }
    }
    if (status != SQLITE_DONE) {
      error_ = sqlite3_errmsg(tables_.database());
    }
    std::set<std::string> keys;
    for (int i = 0; i < columns; ++i) {
      const std::string name = sqlite3_column_name(statement.get(), i);
      std::string key = name;
      for (int number = 2; !keys.insert(key).second; ++number) {
        key = name + '_' + std::to_string(number);
      }
      table.columns.push_back(
          {key, key, shown_as(name, table.rows, static_cast<std::size_t>(i)), "", decimals});
    }
    return table;
  }

 private:
  // The tables themselves are made by statements that a query must not have.
  class Guard {
   public:
    explicit Guard(sqlite3* database) : database_(database) {
      sqlite3_set_authorizer(database_, permit, nullptr);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { sqlite3_set_authorizer(database_, nullptr, nullptr); }

   private:
    sqlite3* database_;
  };

  SqliteTables tables_;
};

}  // namespace

std::unique_ptr<QueryDatabase> make_query_database() {
  return std::make_unique<SqliteQueries>();
}

}  // namespace ringside::report
