// SPDX-License-Identifier: Apache-2.0
//
// The result of a command, before it is text: sentences for a person, findings, and tables of
// typed cells. Every command that makes a document has all four formats.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_DOCUMENT_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_DOCUMENT_H

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace ringside::report {

class JsonWriter;

/// How the numbers of a column are shown in a table. JSON and CSV have them as they are.
enum class Shown : std::uint8_t {
  kText,
  kInteger,
  kNumber,    // with CellColumn::decimals
  kBytes,     // "64 KiB"; "1 KiB to 2 KiB" where columns KEY_min and KEY_max say so
  kDuration,  // nanoseconds, as "12.3 us"
  kMoment,    // nanoseconds since the epoch, as "12:34:56.789" (UTC)
  kRank,      // a text, of which JSON and CSV have the number: "rank 3"
  kRanks,     // Ranks: "ranks 0-3 and 90 more", of which CSV has all numbers
  kNot,       // in JSON and CSV only
  kAbsent,    // nowhere
};

struct CellColumn {
  std::string key;         // in JSON and CSV, with its unit: "wait_ns"
  std::string title = {};  // in tables
  Shown shown = Shown::kText;
  std::string unit = {};  // below the title, where the cells do not say it themselves
  int decimals = 2;       // of kNumber, in every format; may be kAllDecimals
};

/// Nothing, where a value cannot be known: "-" in tables, null in JSON, empty in CSV.
/// A truth is "yes" or "no" but in JSON, where ranks, in their order, are an array of numbers.
using Ranks = std::vector<std::uint32_t>;
using Cell =
    std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double, bool, Ranks>;

/// Nothing if the text is empty.
inline Cell text_cell(std::string_view text) {
  return text.empty() ? Cell() : Cell(std::string(text));
}

/// Makes a cell of a text, a number, ranks, a cell, or an optional one of these.
template <typename T>
Cell cell_of(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? cell_of(*value) : Cell();
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_same_v<T, Cell> || std::is_same_v<T, Ranks> ||
                       std::floating_point<T> || std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::unsigned_integral<T>) {
    return std::uint64_t{value};
  } else {
    return std::int64_t{value};
  }
}

struct Table {
  std::string key;    // of the table in JSON
  std::string title;  // the line above it
  std::vector<CellColumn> columns;
  std::vector<std::vector<Cell>> rows = {};
  std::uint64_t left_out = 0;  // rows that --top keeps out
  bool is_whole = false;       // a matrix, which --top must not cut
  /// Keys of the columns that a narrow terminal leaves out first, in that order.
  std::vector<std::string> gives_way = {};
};

enum class Severity : std::uint8_t { kNote, kWarning, kError };
std::string_view severity_name(Severity severity);

/// Something that a person should know. `kind` is a word of docs/columns.md, which --fail-on
/// takes.
struct Finding {
  Severity severity = Severity::kWarning;
  std::string kind;
  std::string text;  // a sentence
  std::string around =
      {};  // an operation, as `ringside merge --around` takes it; empty: no single one
  std::string cause = {};                 // findings that share one have one cause; empty: its own
  std::vector<std::uint32_t> ranks = {};  // of the job, that it blames
};

struct Document {
  std::string command;                      // "stragglers"
  std::vector<std::string> sentences = {};  // the answer, first
  std::vector<Finding> findings = {};
  std::vector<Table> tables = {};
  std::vector<std::string> notes = {};  // what limits the answer
  bool is_open = false;                 // what is there does not answer the question
};

/// Whether something is wrong, so that a command ends with status 1.
bool has_error(const Document& document);

/// The formats of --format.
inline constexpr const char* kFormats[] = {"table", "json", "csv", "markdown"};

/// The whole output in one of kFormats. CSV has one table, which is the first one or that of
/// `csv_table`. Control characters in texts of traces never reach the terminal. The format `table`
/// fits a screen of so many columns, if it can be done; 0: there is none.
std::string render(const Document& document, std::string_view format,
                   std::string_view csv_table = {}, std::size_t screen_columns = 0);

/// A table by itself, below its title if it has one: for people, in the format `table` or
/// `markdown`.
std::string render_table(const Table& table, bool as_markdown, std::size_t screen_columns = 0);

/// The same as CSV, for programs.
std::string render_csv(const Table& table);

/// Writes a cell as a member of an object, for programs.
void write_cell(JsonWriter& json, const CellColumn& column, const Cell& of_people);

/// A duration in ns as people read it: "850 ns", "12.3 us", "4.56 ms", "1.20 s".
std::string human_duration(double duration_ns);
inline std::string human_duration(std::int64_t duration_ns) {
  return human_duration(static_cast<double>(duration_ns));
}

/// The number in "rank 3"; nothing if the label is another, as "node1:4711" where none is known.
std::optional<std::uint64_t> rank_number(std::string_view label);

/// Ranks, if each label is a "rank 3"; else the text of all.
Cell cell_of_ranks(const std::vector<std::string>& labels);

/// "12:34:56.789" in UTC.
std::string time_of_day(std::int64_t since_epoch_ns);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_DOCUMENT_H
