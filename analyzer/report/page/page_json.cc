// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/report/iterations_report.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/network_report.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/stragglers_report.h"
#include "analyzer/report/summary/summary_text.h"
#include "analyzer/report/time_report.h"
#include "analyzer/report/topology_report.h"

namespace ringside::report {
namespace {

// The most rows of one table; the rest is counted. `ringside export` has all.
constexpr std::size_t kRows = 2048;
constexpr std::int64_t kMostExact = std::int64_t{1} << 53;

const char* shown_name(Shown shown) {
  constexpr std::array<const char*, 8> kNames = {"text",     "integer", "number", "bytes",
                                                 "duration", "moment",  "rank",   "ranks"};
  return kNames[static_cast<std::size_t>(shown)];
}

void write_page_cell(JsonWriter& json, CellColumn column, const Cell& cell) {
  column.key.clear();  // the table's columns have it
  const auto* const size = std::get_if<std::uint64_t>(&cell);
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    write_integer(json, *integer);
  } else if (size != nullptr && *size > static_cast<std::uint64_t>(kMostExact)) {
    json.text({}, std::to_string(*size));
  } else {
    if (const auto* number = std::get_if<double>(&cell)) {
      // A small value must not become 0, which the page would show as such.
      constexpr double kSmall = 0.01;
      const int decimals =
          *number != 0 && std::abs(*number) < kSmall ? 9 : std::max(column.decimals, 3);
      column.decimals = column.shown == Shown::kNumber ? decimals : 0;
    }
    write_cell(json, column, cell);
  }
}

// Writes those of the figures that the times of operations give.
void write_times(JsonWriter& json, const PageData& data) {
  std::int64_t span_ns = 0;
  double waiting_ns = 0;
  double all_ns = 0;  // over the ranks
  for (const metrics::RankShares& rank : data.shares.ranks) {
    span_ns = std::max(span_ns, rank.span_ns);
    all_ns += static_cast<double>(rank.span_ns);
    waiting_ns += static_cast<double>(rank.waiting_ns);
  }
  const metrics::Row* best = nullptr;
  for (const metrics::CommunicatorRows& communicator : data.summary.rows) {
    for (const metrics::Row& row : communicator.rows) {
      if (row.busbw_gb_s && !row.busbw_inferred &&
          (best == nullptr || row.busbw_gb_s->best > best->busbw_gb_s->best)) {
        best = &row;
      }
    }
  }
  json.number("span_ns", span_ns > 0 ? std::optional(static_cast<double>(span_ns)) : std::nullopt,
              3);
  json.number(
      "waiting_percent",
      all_ns > 0 && data.knows_waits() ? std::optional(100 * waiting_ns / all_ns) : std::nullopt,
      3);
  json.number("best_busbw_gb_s",
              best != nullptr ? std::optional(best->busbw_gb_s->best) : std::nullopt, 3);
  if (has_peaks(data.summary)) {
    const auto percent = best != nullptr ? best->efficiency_percent() : std::nullopt;
    json.number("best_busbw_efficiency_percent",
                percent ? std::optional(percent->best) : std::nullopt, 3);
  }
}

// Writes the figures that the page shows in large type.
void write_figures(JsonWriter& json, const PageData& data) {
  const InputFacts& inputs = data.summary.inputs;
  json.begin_object("figures");
  json.integer("ranks", inputs.ranks);
  json.integer("operations", inputs.operations);
  if (!inputs.are_dumps()) {
    json.integer("hosts", inputs.hosts.size());
    write_times(json, data);
  }
  json.end_object();
  json.texts("jobs", inputs.jobs);
  json.texts("origin", origin_lines(data.summary));
}

struct Section {
  const char* id;
  const Document* document;
};

void write_sections(JsonWriter& json, const std::vector<Section>& sections) {
  json.begin_object("sections");
  for (const auto& [id, document] : sections) {
    json.begin_object(id);
    json.texts("sentences", document->sentences);
    json.texts("notes", document->notes);
    json.end_object();
  }
  json.end_object();
}

void write_tables(JsonWriter& json, const std::vector<Section>& sections,
                  const std::vector<Table>& own) {
  json.begin_object("tables");
  for (const Table& table : own) {
    write_table(json, table.key, table);
  }
  for (const auto& [id, document] : sections) {
    for (const Table& table : document->tables) {
      // The keys of two documents may be the same.
      write_table(json, document->command + '_' + table.key, table);
    }
  }
  json.end_object();
}

}  // namespace

void write_table(JsonWriter& json, const std::string& key, const Table& table) {
  json.begin_object(key);
  json.text("title", table.title);
  json.begin_array("columns");
  for (const CellColumn& column : table.columns) {
    if (column.shown == Shown::kNot) {
      continue;
    }
    json.begin_row();
    json.text({}, column.key);
    json.text({}, column.title);
    json.text({}, shown_name(column.shown));
    json.text({}, column.unit);
    json.integer({}, column.decimals);
    json.end_row();
  }
  json.end_array();
  const std::size_t count = std::min(table.rows.size(), kRows);
  json.begin_array("rows");
  for (std::size_t i = 0; i < count; ++i) {
    json.begin_row();
    for (std::size_t column = 0; column < table.rows[i].size(); ++column) {
      if (table.columns[column].shown != Shown::kNot) {
        write_page_cell(json, table.columns[column], table.rows[i][column]);
      }
    }
    json.end_row();
  }
  json.end_array();
  json.integer("left_out", table.left_out + table.rows.size() - count);
  json.texts("gives_way", table.gives_way);
  json.end_object();
}

void write_integer(JsonWriter& json, std::int64_t value, std::string_view key) {
  if (value > kMostExact || value < -kMostExact) {
    json.text(key, std::to_string(value));
  } else {
    json.integer(key, value);
  }
}

std::string page_json(const PageData& data) {
  Document stragglers = stragglers_document(data.replays);
  add_waits_by(data.replays, data.traces, data.matches, metrics::RowsBy::kCaller, stragglers);
  Document network = make_network_report(data.traces, data.network, kRows, false);
  std::erase_if(network.tables, [](const Table& table) { return table.key == "matrix"; });
  const Document match = match_document(data.traces, data.matches, data.judgements, kMostJudged,
                                        false, data.is_all_read);
  const Document communicators = communicators_document(data.traces, data.matches);
  const Document iterations = iterations_document(data.iterations, data.traces, data.matches, true);
  const Document topology =
      topology_document(metrics::find_topology(data.traces), true, std::nullopt);
  const bool are_dumps = data.summary.inputs.are_dumps();
  const Document completeness{{},
                              input_lines(data.summary),
                              {},
                              {},
                              are_dumps ? std::vector<std::string>() : clock_notes(data.alignment)};
  Document path =
      critical_path_document(data.replays.longest(), data.traces, data.matches, data.alignment);
  std::erase_if(path.tables, [](const Table& table) { return table.key == "longest"; });
  std::vector<Section> sections = {
      {"late", &stragglers},          {"network", &network},
      {"mismatches", &match},         {"communicators", &communicators},
      {"iterations", &iterations},    {"critical-path", &path},
      {"completeness", &completeness}};
  std::vector<Table> own = {bandwidth_table(data.summary), shares_table(data), traces_table(data),
                            alignment_table(data.alignment)};
  if (are_dumps) {  // they have no times
    sections = {
        {"mismatches", &match}, {"communicators", &communicators}, {"completeness", &completeness}};
    own = {traces_table(data)};
  }
  if (std::any_of(data.traces.files.begin(), data.traces.files.end(),
                  [](const model::TraceFile& file) { return !file.machines.empty(); })) {
    sections.push_back({"topology", &topology});
  }
  if (data.hang) {
    sections.push_back({"stuck", &*data.hang});
  }
  JsonWriter json;
  json.begin_output(kPageVersion, "report");
  Health health = judge_health(data.summary, data.replays, data.matches, data.hang, network,
                               data.network.has_unjudged_links(), match, topology);
  if (data.add_commands) {
    data.add_commands(health);
  }
  json.begin_object("health");
  write_health(json, health);
  json.end_object();
  if (!health.merge_command.empty()) {
    json.text("merge_command", health.merge_command);
  }
  write_figures(json, data);
  write_sections(json, sections);
  write_share_bars(json, data);
  write_wait_maps(json, data);
  write_matrices(json, data.network);
  write_tables(json, sections, own);
  json.end_object();
  return json.finish();
}

}  // namespace ringside::report
