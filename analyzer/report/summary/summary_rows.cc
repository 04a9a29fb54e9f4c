// SPDX-License-Identifier: Apache-2.0
//
// The rows of a summary: a table of each communicator for people, one of all for programs.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary_text.h"

namespace ringside::report {
namespace {

using metrics::Figure;
using metrics::Row;
using metrics::Spread;

std::string ranks_cell(const Row* row) {
  const std::string ranks = std::to_string(row->ranks) + (row->ranks_inferred ? "?" : "");
  return row->ranks_seen < row->ranks ? std::to_string(row->ranks_seen) + '/' + ranks : ranks;
}

std::string count_cell(const Row* row) {
  return row->is_sampled ? '~' + fixed(row->count_scaled, 0) : std::to_string(row->count);
}

// "12.3"; "~12.3" where much is open. With intervals "11.8 to 12.9".
// `is_least_open`: the least is not known (metrics::Row::is_least_open).
std::string time_cell(const Figure& time_ns, bool with_intervals, bool is_least_open = false) {
  const std::string least = fixed(time_ns.least / 1000, 1);
  const std::string most = fixed(time_ns.most / 1000, 1);
  if (with_intervals) {
    return is_least_open ? "? to " + most : least == most ? least : least + " to " + most;
  }
  return (time_ns.is_vague() ? "~" : "") + fixed(time_ns.best / 1000, 1);
}

// A wait may be 0, so its interval is measured by the wall time.
std::string wait_cell(const Row& row, bool with_intervals) {
  return !row.wait ? "-"
         : with_intervals
             ? time_cell(row.wait->median, true)
             : (row.is_wait_vague() ? "~" : "") + fixed(row.wait->median.best / 1000, 1);
}

// A small bandwidth is not none.
std::string small_bandwidth(double gb_s) {
  return gb_s > 0 && gb_s < 0.005 ? "<0.01" : fixed(gb_s, 2);
}

std::string bandwidth_cell(const std::optional<Figure>& gb_s, bool is_inferred, bool with_intervals,
                           bool is_most_open) {
  if (!gb_s) {
    return "-";
  }
  const std::string mark = is_inferred ? "?" : "";
  if (with_intervals) {
    const std::string least = small_bandwidth(gb_s->least);
    const std::string most =
        std::isfinite(gb_s->most) && !is_most_open ? small_bandwidth(gb_s->most) : "?";
    return (least == most ? least : least + " to " + most) + mark;
  }
  return (gb_s->is_vague() ? "~" : "") + small_bandwidth(gb_s->best) + mark;
}

// "71.2"; a part of the peak is as open as the bandwidth is.
std::string efficiency_cell(const Row& row, bool with_intervals) {
  const auto percent = row.efficiency_percent();
  if (!percent) {
    return "-";
  }
  if (with_intervals) {
    const std::string least = small_percent(percent->least);
    const std::string most = row.is_least_open() ? "?" : small_percent(percent->most);
    return least == most ? least : least + " to " + most;
  }
  const std::string shown = small_percent(percent->best);
  return (percent->is_vague() && !shown.starts_with('<') ? "~" : "") + shown;
}

std::string size_cell(const Row* row) {
  return !row->bytes ? "-"
         : row->bytes_min == row->bytes_max
             ? human_bytes(*row->bytes)
             : human_bytes(*row->bytes_min) + " to " + human_bytes(*row->bytes_max);
}

// The best, the least or the most of a time, in us.
auto time_us(std::optional<Spread> Row::*times, Figure Spread::*which,
             double Figure::*part = &Figure::best) {
  return [=](const SummaryRow& one) -> Cell {
    const auto& known = one.row.*times;
    const bool is_open = part == &Figure::least && one.row.is_least_open();
    return known && !is_open ? Cell(((*known).*which).*part / 1000) : Cell();
  };
}

template <typename Value>
auto of_row(Value value) {
  return [=](const SummaryRow& one) { return std::invoke(value, one.row); };
}

// Of a bandwidth, or of a part of the peak: a function of a row or its member.
template <typename Value>
auto part_of(Value value, double Figure::*part) {
  return [=](const SummaryRow& one) -> Cell {
    const std::optional<Figure> figure = std::invoke(value, one.row);
    const bool is_open = part == &Figure::most &&
                         (one.row.is_least_open() || (figure && !std::isfinite(figure->most)));
    return figure && !is_open ? Cell((*figure).*part) : Cell();
  };
}

// At most `most` rows: those whose operations took most of the time. Among equals, the row with
// more operations is chosen. 0 chooses all.
std::vector<const Row*> rows_to_show(const std::vector<Row>& rows, std::size_t most) {
  std::vector<const Row*> chosen;
  chosen.reserve(rows.size());
  for (const Row& row : rows) {
    chosen.push_back(&row);
  }
  if (most != 0 && most < rows.size()) {
    std::stable_sort(chosen.begin(), chosen.end(), [](const Row* a, const Row* b) {
      return std::pair(a->total_busy_ns(), a->count) > std::pair(b->total_busy_ns(), b->count);
    });
    chosen.resize(most);
    std::sort(chosen.begin(), chosen.end());
  }
  return chosen;
}

}  // namespace

bool has_peaks(const Summary& summary) {
  return std::any_of(summary.rows.begin(), summary.rows.end(), [](const auto& of) {
    return std::any_of(of.rows.begin(), of.rows.end(),
                       [](const Row& row) { return row.peak.has_value(); });
  });
}

Table rows_table(const Summary& summary, std::size_t communicator) {
  const bool with_intervals = summary.with_intervals;
  const std::int64_t waited_ns = all_waited_ns(summary.rows);
  const std::vector<Row>& all = summary.rows[communicator].rows;
  const std::vector<const Row*> rows = rows_to_show(all, summary.most_rows);
  const auto shown_if = [](bool is_shown) { return is_shown ? Shown::kInteger : Shown::kAbsent; };
  const auto time = [=](std::optional<Spread> Row::*times, Figure Spread::*which) {
    return [=](const Row* row) {
      const bool is_least_open = times == &Row::busy && row->is_least_open();
      return row->*times ? time_cell((*(row->*times)).*which, with_intervals, is_least_open) : "-";
    };
  };
  const auto gb_s = [=](std::optional<Figure> Row::*figure, bool Row::*is_inferred) {
    return [=](const Row* row) {
      return bandwidth_cell(row->*figure, row->*is_inferred, with_intervals, row->is_least_open());
    };
  };
  const CellColumn group = group_column(summary.by);
  // The cells are text: they say what is open, too.
  Table table = table_of(
      "rows", "", rows,
      {{{"", group.title, group.shown}, [](auto* row) { return text_cell(row->by); }},
       {"", "function", [](auto* row) { return row->function + (row->is_grouped ? " +" : ""); }},
       {"", "message", Shown::kInteger, "per rank", size_cell},
       {"datatype", "datatype",
        [](auto* row) { return text_cell(match::datatype_name(row->datatype)); }},
       {"algorithm", "algorithm", [](auto* row) { return text_cell(row->algorithm); }},
       {"protocol", "protocol", [](auto* row) { return text_cell(row->protocol); }},
       {"count", "count", Shown::kInteger, count_cell},
       {"ranks", "ranks", Shown::kInteger, ranks_cell},
       {"", "median", Shown::kInteger, "us",
        [=](auto* row) {
          return time(&Row::busy, &Spread::median)(row) + (row->on_some_ranks > 0 ? "*" : "");
        }},
       {"p99", "p99", Shown::kInteger, "us", time(&Row::busy, &Spread::p99)},
       {"wall", "wall", Shown::kInteger, "us", time(&Row::wall, &Spread::median)},
       {"wait", "wait", Shown::kInteger, "us",
        [=](auto* row) { return wait_cell(*row, with_intervals); }},
       {"algbw", "algbw", Shown::kInteger, "GB/s", gb_s(&Row::algbw_gb_s, &Row::algbw_inferred)},
       {"", "busbw", Shown::kInteger, "GB/s", gb_s(&Row::busbw_gb_s, &Row::busbw_inferred)},
       {"", "nominal", shown_if(summary.with_nominal), "GB/s",
        gb_s(&Row::nominal_gb_s, &Row::busbw_inferred)},
       {"of_peak", "of peak", shown_if(has_peaks(summary)), "%",
        [=](auto* row) { return efficiency_cell(*row, with_intervals); }},
       {"times", "times", Shown::kText, "from",
        [](auto* row) { return times_from_name(row->times_from); }},
       {"", "waiting", shown_if(group.shown != Shown::kAbsent), "% of all",
        [=](auto* row) {
          const auto share = wait_share_percent(*row, waited_ns);
          return share ? fixed(*share, 1) : "-";
        }}},
      {"protocol", "algorithm", "times", "p99", "datatype", "wall", "ranks", "algbw", "count"});
  if (summary.with_nominal || summary.has_baseline) {
    // A column that an option asked for stays.
    table.gives_way.emplace_back("wait");
    if (!summary.has_baseline) {
      table.gives_way.emplace_back("of_peak");
    }
  }
  table.left_out = all.size() - rows.size();
  return table;
}

Columns<SummaryRow> columns_for_programs(const Summary& summary) {
  const std::int64_t waited_ns = all_waited_ns(summary.rows);
  constexpr auto kPercent = &Row::efficiency_percent;
  return {
      {"communicator", 0,
       [](auto& one) {
         const match::Communicator& of = one.communicator;
         return of.hash.empty()   ? label_of(of)
                : of.instance > 0 ? of.hash + '#' + std::to_string(of.instance + 1)
                                  : of.hash;
       }},
      {"name", 0, [](auto& one) { return one.communicator.name; }},
      {"nranks", 0, [](auto& one) { return one.communicator.nranks; }},
      {"nranks_inferred", 0,
       [](auto& one) { return one.communicator.nranks_inferred ? "true" : "false"; }},
      {group_column(summary.by).key, 0, of_row(&Row::by)},
      {"wait_share_percent", 3, [=](auto& one) { return wait_share_percent(one.row, waited_ns); }},
      {"function", 0, of_row(&Row::function)},
      {"bytes", 0, of_row(&Row::bytes)},
      {"bytes_min", 0, of_row(&Row::bytes_min)},
      {"bytes_max", 0, of_row(&Row::bytes_max)},
      {"datatype", 0, of_row(&Row::datatype)},
      {"algorithm", 0, of_row(&Row::algorithm)},
      {"protocol", 0, of_row(&Row::protocol)},
      {"is_group", 0, of_row(&Row::is_group)},
      {"is_grouped", 0, of_row(&Row::is_grouped)},
      {"count", 0, of_row(&Row::count)},
      {"count_scaled", 0, of_row(&Row::count_scaled)},
      {"partial", 0, of_row(&Row::partial)},
      {"ranks", 0, of_row(&Row::ranks)},
      {"ranks_seen", 0, of_row(&Row::ranks_seen)},
      {"ranks_inferred", 0, of_row(&Row::ranks_inferred)},
      {"time_median_us", 3, time_us(&Row::busy, &Spread::median)},
      {"time_p99_us", 3, time_us(&Row::busy, &Spread::p99)},
      {"time_least_us", 3, time_us(&Row::busy, &Spread::median, &Figure::least)},
      {"time_most_us", 3, time_us(&Row::busy, &Spread::median, &Figure::most)},
      {"wall_median_us", 3, time_us(&Row::wall, &Spread::median)},
      {"wait_median_us", 3, time_us(&Row::wait, &Spread::median)},
      {"on_some_ranks", 0, of_row(&Row::on_some_ranks)},
      {"excluded", 0, of_row(&Row::excluded)},
      {"excluded_impossible", 0, of_row(&Row::excluded)},
      {"gpu_stamps_rejected", 0, of_row(&Row::gpu_rejected)},
      {"algbw_gb_s", 6, part_of(&Row::algbw_gb_s, &Figure::best)},
      {"algbw_least_gb_s", 6, part_of(&Row::algbw_gb_s, &Figure::least)},
      {"algbw_most_gb_s", 6, part_of(&Row::algbw_gb_s, &Figure::most)},
      {"busbw_gb_s", 6, part_of(&Row::busbw_gb_s, &Figure::best)},
      {"busbw_least_gb_s", 6, part_of(&Row::busbw_gb_s, &Figure::least)},
      {"busbw_most_gb_s", 6, part_of(&Row::busbw_gb_s, &Figure::most)},
      {"nominal_gb_s", 6, part_of(&Row::nominal_gb_s, &Figure::best)},
      {"nominal_least_gb_s", 6, part_of(&Row::nominal_gb_s, &Figure::least)},
      {"nominal_most_gb_s", 6, part_of(&Row::nominal_gb_s, &Figure::most)},
      {"peak_gb_s", 6,
       of_row([](auto& row) { return row.peak ? Cell(row.peak->busbw_gb_s) : Cell(); })},
      {"peak_bound", 0,
       of_row([](auto& row) { return row.peak ? cell_of(row.peak->bound) : Cell(); })},
      {"efficiency_percent", 3, part_of(kPercent, &Figure::best)},
      {"efficiency_least_percent", 3, part_of(kPercent, &Figure::least)},
      {"efficiency_most_percent", 3, part_of(kPercent, &Figure::most)},
      {"algbw_inferred", 0, of_row(&Row::algbw_inferred)},
      {"busbw_inferred", 0, of_row(&Row::busbw_inferred)},
      {"times_from", 0, of_row([](auto& row) { return times_from_name(row.times_from); })},
  };
}

std::string summary_as_csv(const Summary& summary) {
  const Columns<SummaryRow> all = columns_for_programs(summary);
  Columns<SummaryRow> columns;
  const auto add = [&](std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      columns.push_back(column_of(all, key));
    }
  };
  add({"communicator",  "name",           "nranks",           "nranks_inferred",
       "function",      "bytes",          "datatype",         "algorithm",
       "protocol",      "count",          "partial",          "ranks",
       "ranks_seen",    "time_median_us", "time_p99_us",      "algbw_gb_s",
       "busbw_gb_s",    "times_from",     "wall_median_us",   "wait_median_us",
       "on_some_ranks", "excluded",       "bytes_min",        "bytes_max",
       "time_least_us", "time_most_us",   "busbw_least_gb_s", "busbw_most_gb_s",
       "nominal_gb_s"});
  if (has_peaks(summary)) {
    add({"peak_gb_s", "peak_bound", "efficiency_percent", "efficiency_least_percent",
         "efficiency_most_percent"});
  }
  if (!summary.inputs.samplings.empty()) {
    add({"count_scaled"});
  }
  if (summary.by != metrics::RowsBy::kKind) {
    add({"wait_share_percent", group_column(summary.by).key});
  }
  return render_csv(table_of("rows", "", all_rows(summary), columns));
}

}  // namespace ringside::report
