// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "analyzer/model/printable.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/export/query.h"
#include "analyzer/report/export/sqlite_tables.h"

namespace ringside::report {
namespace {

// How much memory the rows of an answer may take, and SQLite besides the tables to find them.
constexpr std::size_t kMostAnswer_bytes = std::size_t{1} << 30;
constexpr char kTooLarge[] =
    "the query needs more than 1 GiB of memory: ask for fewer rows (LIMIT, WHERE), or for sums";

// duration(ns) and size(bytes): the texts that tables have.
template <std::string (*kText)(double)>
void answer_text(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const int type = sqlite3_value_numeric_type(values[0]);
  if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
    const std::string text = kText(sqlite3_value_double(values[0]));
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
    // The tables themselves are made by statements that a query must not have.
    sqlite3_set_authorizer(database, permit, nullptr);
    status_ = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, &rest_);
    sqlite3_set_authorizer(database, nullptr, nullptr);
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

// X'00FF', as SQL writes it.
std::string as_blob(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text = "X'";
  for (const char byte : bytes) {
    text += kHex[static_cast<unsigned char>(byte) >> 4U];
    text += kHex[static_cast<unsigned char>(byte) & 0xFU];
  }
  return text + '\'';
}

std::size_t bytes_of(const Cell& cell) {
  const auto* const text = std::get_if<std::string>(&cell);
  return sizeof(Cell) + (text != nullptr ? text->size() : 0);
}

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
      const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
      const std::string_view text = bytes == nullptr ? "" : std::string_view(bytes, size);
      return sqlite3_column_type(statement, column) == SQLITE_BLOB ? as_blob(text)
                                                                   : std::string(text);
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
      sqlite3_create_function(tables_.database(), "duration", 1, kFlags, nullptr,
                              answer_text<human_duration>, nullptr, nullptr);
      sqlite3_create_function(tables_.database(), "size", 1, kFlags, nullptr,
                              answer_text<signed_bytes>, nullptr, nullptr);
    }
    error_ = tables_.error();
  }

  void add(ExportTableId table, std::span<const ExportValue> values) override {
    tables_.add(table, values);
    error_ = tables_.error();
  }

  bool finish() override {
    tables_.finish();
    constexpr int kHasLimit = 3'031'000;
    if (sqlite3_libversion_number() >= kHasLimit) {
      tables_.run("PRAGMA temp_store = MEMORY");  // a query fills no disk
      tables_.run(
          "PRAGMA hard_heap_limit = " +
          std::to_string(static_cast<std::size_t>(sqlite3_memory_used()) + kMostAnswer_bytes));
    }
    error_ = tables_.error();
    return error_.empty();
  }

  std::string trouble_with(const std::string& sql) override {
    const Statement statement(tables_.database(), sql);
    // VACUUM is denied only once it runs. All that answers nothing is no SELECT.
    if (statement.status() == SQLITE_AUTH ||
        (statement.get() != nullptr && sqlite3_column_count(statement.get()) == 0)) {
      return "only SELECT is possible here; `ringside export --sqlite FILE` makes a database to "
             "change";
    }
    const std::string trouble = statement.status() != SQLITE_OK ? sqlite3_errmsg(tables_.database())
                                : statement.get() == nullptr    ? "the query is empty"
                                : statement.has_more()          ? "give one query at a time"
                                                                : "";
    return trouble.empty() ? trouble
                           : trouble + "; `ringside query --views` lists tables and columns";
  }

  Table answer(const std::string& sql, std::size_t most_rows, bool is_for_people) override {
    Table table{"rows", "", {}, {}};
    const Statement statement(tables_.database(), sql);
    const int columns = sqlite3_column_count(statement.get());
    int status = SQLITE_ROW;
    std::size_t bytes = 0;
    while (bytes <= kMostAnswer_bytes && (status = sqlite3_step(statement.get())) == SQLITE_ROW) {
      if (most_rows > 0 && table.rows.size() == most_rows) {
        ++table.left_out;
        continue;
      }
      std::vector<Cell>& row = table.rows.emplace_back();
      for (int i = 0; i < columns; ++i) {
        row.push_back(cell_in(statement.get(), i));
        bytes += bytes_of(row.back());
      }
    }
    if (status != SQLITE_DONE) {
      error_ = status == SQLITE_ROW || status == SQLITE_NOMEM ? kTooLarge
                                                              : sqlite3_errmsg(tables_.database());
    }
    std::set<std::string> keys;
    for (int i = 0; i < columns; ++i) {
      const std::string name = sqlite3_column_name(statement.get(), i);
      std::string key = name;
      for (int number = 2; !keys.insert(key).second; ++number) {
        key = name + '_' + std::to_string(number);
      }
      table.columns.push_back({key, model::printable(key),
                               shown_as(name, table.rows, static_cast<std::size_t>(i)), "",
                               is_for_people ? 2 : kAllDecimals});
    }
    return table;
  }

 private:
  SqliteTables tables_;
};

}  // namespace

std::unique_ptr<QueryDatabase> make_query_database() {
  return std::make_unique<SqliteQueries>();
}

}  // namespace ringside::report
