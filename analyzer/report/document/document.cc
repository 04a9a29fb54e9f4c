// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/joined.h"
#include "analyzer/model/printable.h"
#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/text_table.h"

namespace ringside::report {
namespace {

using model::printable;

// Raised when a reader of the older output would misread the newer; docs/columns.md lists the
// keys.
constexpr std::uint64_t kDocumentVersion = 1;

double as_double(const Cell& cell) {
  if (const auto* signed_value = std::get_if<std::int64_t>(&cell)) {
    return static_cast<double>(*signed_value);
  }
  if (const auto* unsigned_value = std::get_if<std::uint64_t>(&cell)) {
    return static_cast<double>(*unsigned_value);
  }
  return std::get<double>(cell);
}

bool is_number(const Cell& cell) {
  return cell.index() >= 2 && !std::holds_alternative<bool>(cell) &&
         !std::holds_alternative<Ranks>(cell);
}

bool is_text(Shown shown) {
  return shown == Shown::kText || shown == Shown::kRank || shown == Shown::kRanks;
}

const char* truth_text(bool is_true) {
  return is_true ? "yes" : "no";
}

// As programs want it: a rank is its number.
Cell for_programs(const CellColumn& column, const Cell& cell) {
  const auto* const text = std::get_if<std::string>(&cell);
  const auto rank =
      column.shown == Shown::kRank && text != nullptr ? rank_number(*text) : std::nullopt;
  return rank ? Cell(*rank) : cell;
}

// The number itself, without a unit.
std::string plain(const CellColumn& column, const Cell& cell) {
  if (const auto* signed_value = std::get_if<std::int64_t>(&cell)) {
    return std::to_string(*signed_value);
  }
  if (const auto* unsigned_value = std::get_if<std::uint64_t>(&cell)) {
    return std::to_string(*unsigned_value);
  }
  return fixed(std::get<double>(cell), column.decimals);
}

std::string shown(const CellColumn& column, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return printable(*text);
  }
  if (const auto* is_true = std::get_if<bool>(&cell)) {
    return truth_text(*is_true);
  }
  if (const auto* ranks = std::get_if<Ranks>(&cell)) {
    return column.shown == Shown::kRanks ? match::rank_list(*ranks) : match::rank_ranges(*ranks);
  }
  if (!is_number(cell)) {
    return "-";
  }
  switch (column.shown) {
    case Shown::kBytes:
      return signed_bytes(as_double(cell));
    case Shown::kDuration:
      return human_duration(as_double(cell));
    case Shown::kMoment:
      return time_of_day(std::get<std::int64_t>(cell));
    default:
      break;
  }
  std::string text = plain(column, cell);
  // Zeros would say that there is none. A chance is never quite 0.
  const bool is_chance = column.key == "chance";
  if (text != fixed(0, column.decimals) ||
      !(is_chance || (column.shown == Shown::kNumber && as_double(cell) != 0))) {
    return text;
  }
  const double least = std::pow(10, -column.decimals);
  return is_chance             ? "<1e-" + std::to_string(column.decimals)
         : as_double(cell) > 0 ? '<' + fixed(least, column.decimals)
                               : '>' + fixed(-least, column.decimals);
}

// For each column the places of those with its least and greatest bytes; the end if there are none.
using Bounds = std::vector<std::pair<std::size_t, std::size_t>>;

Bounds bounds_of(const Table& table) {
  const auto place_of = [&](const std::string& key) {
    return static_cast<std::size_t>(
        std::find_if(table.columns.begin(), table.columns.end(),
                     [&](const CellColumn& column) { return column.key == key; }) -
        table.columns.begin());
  };
  Bounds bounds;
  for (const CellColumn& column : table.columns) {
    bounds.emplace_back(place_of(column.key + "_min"), place_of(column.key + "_max"));
  }
  return bounds;
}

std::string shown_in_row(const Table& table, const Bounds& bounds, const std::vector<Cell>& row,
                         std::size_t i) {
  const CellColumn& column = table.columns[i];
  const auto [least, greatest] = bounds[i];
  if (column.shown == Shown::kBytes && std::max(least, greatest) < row.size() &&
      is_number(row[least]) && is_number(row[greatest]) && row[least] != row[greatest]) {
    return shown(column, row[least]) + " to " + shown(column, row[greatest]);
  }
  return shown(column, row[i]);
}

TextTable text_table(const Table& table) {
  std::vector<Column> columns;
  for (const CellColumn& column : table.columns) {
    if (column.shown != Shown::kNot) {
      const auto turn = std::find(table.gives_way.begin(), table.gives_way.end(), column.key);
      columns.push_back({column.title, column.unit, !is_text(column.shown),
                         turn == table.gives_way.end()
                             ? kGivesWayLast
                             : static_cast<std::size_t>(turn - table.gives_way.begin())});
    }
  }
  TextTable made(std::move(columns));
  const Bounds bounds = bounds_of(table);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].shown != Shown::kNot) {
        cells.push_back(shown_in_row(table, bounds, row, i));
      }
    }
    made.add_row(std::move(cells));
  }
  return made;
}

std::string left_out_text(const Table& table) {
  return table.left_out == 0 ? ""
                             : counted(table.left_out, "more row") + " left out (--top shows more)";
}

std::string as_table(const Document& document, std::size_t screen_columns) {
  std::string text;
  for (const std::string& sentence : document.sentences) {
    text += wrapped(printable(sentence), screen_columns);
  }
  for (const Finding& finding : document.findings) {
    text += wrapped(std::string(severity_name(finding.severity)) + ": " + printable(finding.text),
                    screen_columns);
  }
  for (const Table& table : document.tables) {
    if (table.rows.empty()) {
      continue;
    }
    text += (text.empty() ? "" : "\n") + render_table(table, false, screen_columns);
  }
  if (!document.notes.empty()) {
    text += '\n';
  }
  for (const std::string& note : document.notes) {
    text += wrapped("note: " + printable(note), screen_columns);
  }
  return text;
}

std::string as_markdown(const Document& document) {
  std::string text = "# ringside " + document.command + "\n\n";
  for (const std::string& sentence : document.sentences) {
    text += markdown_text(sentence) + "\n\n";
  }
  for (const Finding& finding : document.findings) {
    text += "- **" + std::string(severity_name(finding.severity)) +
            "**: " + markdown_text(finding.text) + '\n';
  }
  text += document.findings.empty() ? "" : "\n";
  for (const Table& table : document.tables) {
    if (table.rows.empty()) {
      continue;
    }
    text += render_table(table, true) + '\n';
  }
  for (const std::string& note : document.notes) {
    text += "- " + markdown_text(note) + '\n';
  }
  return text;
}

std::string as_csv(const Document& document, std::string_view key) {
  const auto found =
      std::find_if(document.tables.begin(), document.tables.end(),
                   [&](const Table& table) { return key.empty() || table.key == key; });
  return found == document.tables.end() ? std::string() : render_csv(*found);
}

std::string as_json(const Document& document) {
  JsonWriter json;
  json.begin_output(kDocumentVersion, document.command);
  json.texts("sentences", document.sentences);
  json.begin_array("findings");
  for (const Finding& finding : document.findings) {
    json.begin_object();
    json.text("severity", severity_name(finding.severity));
    json.text("kind", finding.kind);
    json.text("text", finding.text);
    json.end_object();
  }
  json.end_array();
  json.begin_object("tables");
  for (const Table& table : document.tables) {
    json.begin_object(table.key);
    json.integer("left_out", table.left_out);
    json.begin_array("rows");
    for (const auto& row : table.rows) {
      json.begin_object();
      for (std::size_t i = 0; i < row.size(); ++i) {
        write_cell(json, table.columns[i], row[i]);
      }
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_object();
  json.texts("notes", document.notes);
  json.end_object();
  return json.finish();
}

}  // namespace

void write_cell(JsonWriter& json, const CellColumn& column, const Cell& of_people) {
  const Cell cell = for_programs(column, of_people);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    json.text(column.key, *text);
  } else if (const auto* is_true = std::get_if<bool>(&cell)) {
    json.boolean(column.key, *is_true);
  } else if (const auto* ranks = std::get_if<Ranks>(&cell)) {
    json.begin_row(column.key);
    for (const std::uint32_t rank : *ranks) {
      json.integer({}, rank);
    }
    json.end_row();
  } else if (const auto* signed_value = std::get_if<std::int64_t>(&cell)) {
    json.integer(column.key, *signed_value);
  } else if (const auto* unsigned_value = std::get_if<std::uint64_t>(&cell)) {
    json.integer(column.key, *unsigned_value);
  } else if (const auto* number = std::get_if<double>(&cell); number && std::isfinite(*number)) {
    json.number(column.key, *number, column.decimals);
  } else {
    json.null(column.key);
  }
}

std::string render_table(const Table& table, bool as_markdown, std::size_t screen_columns) {
  const std::string left_out = left_out_text(table);
  if (as_markdown) {
    return (table.title.empty() ? "" : "## " + markdown_text(table.title) + "\n\n") +
           text_table(table).markdown() + (left_out.empty() ? "" : "\n" + left_out + '\n');
  }
  std::vector<std::string> columns;
  std::string text = (table.title.empty() ? "" : wrapped(table.title, screen_columns)) +
                     text_table(table).aligned(2, screen_columns, &columns);
  if (!columns.empty()) {
    text += wrapped("  Columns that do not fit this terminal are in --format csv: " +
                        model::joined(columns, columns.size()),
                    screen_columns);
  }
  return text + (left_out.empty() ? "" : "  " + left_out + '\n');
}

std::string render_csv(const Table& table) {
  std::string text;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    append_csv(text += i == 0 ? "" : ",", table.columns[i].key);
  }
  text += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : ",";
      const Cell cell = for_programs(table.columns[i], row[i]);
      if (const auto* words = std::get_if<std::string>(&cell)) {
        append_csv(text, *words);
      } else if (const auto* is_true = std::get_if<bool>(&cell)) {
        text += truth_text(*is_true);
      } else if (const auto* ranks = std::get_if<Ranks>(&cell)) {
        append_csv(text, match::rank_ranges(*ranks));
      } else if (is_number(cell)) {
        text += plain(table.columns[i], cell);
      }
    }
    text += '\n';
  }
  return text;
}

bool has_error(const Document& document) {
  return std::any_of(document.findings.begin(), document.findings.end(),
                     [](const Finding& one) { return one.severity == Severity::kError; });
}

std::optional<std::uint64_t> rank_number(std::string_view label) {
  constexpr std::string_view kRank = "rank ";
  std::uint64_t number = 0;
  if (!label.starts_with(kRank)) {
    return std::nullopt;
  }
  label.remove_prefix(kRank.size());
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
  return error == std::errc() && end == label.data() + label.size() ? std::optional(number)
                                                                    : std::nullopt;
}

Cell cell_of_ranks(const std::vector<std::string>& labels) {
  Ranks ranks;
  for (const std::string& label : labels) {
    if (const auto number = rank_number(label)) {
      ranks.push_back(static_cast<std::uint32_t>(*number));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks.size() == labels.size() ? Cell(std::move(ranks))
                                       : Cell(model::joined(labels, labels.size()));
}

std::string_view severity_name(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames = {"note", "warning", "error"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::string human_duration(double duration_ns) {
  const double magnitude = std::abs(duration_ns);
  if (magnitude < 1e3) {
    return fixed(duration_ns, 0) + " ns";
  }
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{1e3, " us"}, {1e6, " ms"}, {1e9, " s"}}};
  // Three digits that count; what would round up to 1000 is the next unit's 1.
  const std::size_t unit = magnitude < 999.5e3 ? 0 : magnitude < 999.5e6 ? 1 : 2;
  const double value = duration_ns / kUnits[unit].first;
  const int decimals = std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0;
  return fixed(value, decimals) + kUnits[unit].second;
}

std::string time_of_day(std::int64_t since_epoch_ns) {
  constexpr std::int64_t kDay_ns = std::int64_t{86'400} * 1'000'000'000;
  const std::int64_t of_day_ms = ((since_epoch_ns % kDay_ns + kDay_ns) % kDay_ns) / 1'000'000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%02d:%02d:%02d.%03d",
                static_cast<int>(of_day_ms / 3'600'000), static_cast<int>(of_day_ms / 60'000 % 60),
                static_cast<int>(of_day_ms / 1000 % 60), static_cast<int>(of_day_ms % 1000));
  return text.data();
}

std::string render(const Document& document, std::string_view format, std::string_view csv_table,
                   std::size_t screen_columns) {
  if (format == "json") {
    return as_json(document);
  }
  if (format == "csv") {
    return as_csv(document, csv_table);
  }
  return format == "markdown" ? as_markdown(document) : as_table(document, screen_columns);
}

}  // namespace ringside::report
