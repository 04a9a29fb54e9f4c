// SPDX-License-Identifier: Apache-2.0
//
// The rows of a summary: a table of each communicator for people, one of all for programs.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary_text.h"

namespace ringside::report {
namespace {

std::string ranks_cell(const metrics::Row& row) {
  const std::string ranks = std::to_string(row.ranks) + (row.ranks_inferred ? "?" : "");
  return row.ranks_seen < row.ranks ? std::to_string(row.ranks_seen) + '/' + ranks : ranks;
}

std::string count_cell(const metrics::Row& row) {
  return row.is_sampled ? '~' + fixed(row.count_scaled, 0) : std::to_string(row.count);
}

// "12.3"; "~12.3" where much is open. With intervals "11.8 to 12.9".
// `is_least_open`: the least is not known (metrics::Row::is_least_open).
std::string time_cell(const metrics::Figure& time_ns, bool with_intervals,
                      bool is_least_open = false) {
  const std::string least = fixed(time_ns.least / 1000, 1);
  const std::string most = fixed(time_ns.most / 1000, 1);
  if (with_intervals) {
    return is_least_open ? "? to " + most : least == most ? least : least + " to " + most;
  }
  return (time_ns.is_vague() ? "~" : "") + fixed(time_ns.best / 1000, 1);
}

// A wait may be 0, so its interval is measured by the wall time.
std::string wait_cell(const metrics::Row& row, bool with_intervals) {
  return !row.wait ? "-"
         : with_intervals
             ? time_cell(row.wait->median, true)
             : (row.is_wait_vague() ? "~" : "") + fixed(row.wait->median.best / 1000, 1);
}

// A small bandwidth is not none.
std::string small_bandwidth(double gb_s) {
  return gb_s > 0 && gb_s < 0.005 ? "<0.01" : fixed(gb_s, 2);
}

std::string bandwidth_cell(const std::optional<metrics::Figure>& gb_s, bool is_inferred,
                           bool with_intervals, bool is_most_open) {
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
std::string efficiency_cell(const metrics::Row& row, bool with_intervals) {
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

std::string size_cell(const metrics::Row& row) {
  if (!row.bytes) {
    return "-";
  }
  return row.bytes_min == row.bytes_max
             ? human_bytes(*row.bytes)
             : human_bytes(*row.bytes_min) + " to " + human_bytes(*row.bytes_max);
}

std::string word_cell(std::string_view word) {
  return word.empty() ? "-" : std::string(word);
}

std::optional<double> in_us(const std::optional<double>& time_ns) {
  return time_ns ? std::optional(*time_ns / 1000) : std::nullopt;
}

std::optional<double> best_of(const std::optional<metrics::Figure>& figure) {
  return figure ? std::optional(figure->best) : std::nullopt;
}

// Chooses at most `most` rows: those whose operations took most of the time. Among equals, the row
// with more operations comes first. 0 chooses all.
std::vector<bool> rows_to_show(const std::vector<metrics::Row>& rows, std::size_t most) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rows[a].total_busy_ns(), rows[a].count) >
           std::pair(rows[b].total_busy_ns(), rows[b].count);
  });
  std::vector<bool> is_shown(rows.size(), most == 0 || rows.size() <= most);
  for (std::size_t i = 0; i < order.size() && i < most; ++i) {
    is_shown[order[i]] = true;
  }
  return is_shown;
}

}  // namespace

bool has_peaks(const Summary& summary) {
  return std::any_of(summary.rows.begin(), summary.rows.end(), [](const auto& of) {
    return std::any_of(of.rows.begin(), of.rows.end(),
                       [](const metrics::Row& row) { return row.peak.has_value(); });
  });
}

Table rows_table(const Summary& summary, std::size_t communicator) {
  const bool with_intervals = summary.with_intervals;
  const char* const by = column_of(summary.by);
  const std::int64_t waited_ns = all_waited_ns(summary.rows);
  // The cells are text: they say what is open, too.
  Table table{"rows",
              "",
              {{"", "function"},
               {"", "message", Shown::kInteger, "per rank"},
               {"datatype", "datatype"},
               {"algorithm", "algorithm"},
               {"protocol", "protocol"},
               {"count", "count", Shown::kInteger},
               {"ranks", "ranks", Shown::kInteger},
               {"", "median", Shown::kInteger, "us"},
               {"p99", "p99", Shown::kInteger, "us"},
               {"wall", "wall", Shown::kInteger, "us"},
               {"wait", "wait", Shown::kInteger, "us"},
               {"algbw", "algbw", Shown::kInteger, "GB/s"},
               {"", "busbw", Shown::kInteger, "GB/s"},
               {"times", "times", Shown::kText, "from"}},
              {}};
  table.gives_way = {"protocol", "algorithm", "times", "p99",  "datatype",
                     "wall",     "ranks",     "algbw", "count"};
  if (summary.with_nominal || summary.has_baseline) {
    // A column that an option asked for stays.
    table.gives_way.emplace_back("wait");
    if (!summary.has_baseline) {
      table.gives_way.emplace_back("of_peak");
    }
  }
  if (summary.with_nominal) {
    table.columns.insert(std::prev(table.columns.end()), {"", "nominal", Shown::kInteger, "GB/s"});
  }
  const bool with_peaks = has_peaks(summary);
  if (with_peaks) {
    table.columns.insert(std::prev(table.columns.end()),
                         {"of_peak", "of peak", Shown::kInteger, "%"});
  }
  if (by != nullptr) {
    table.columns.insert(table.columns.begin(), {"", title_of(summary.by)});
    table.columns.push_back({"", "waiting", Shown::kInteger, "% of all"});
  }
  const std::vector<metrics::Row>& rows = summary.rows[communicator].rows;
  const std::vector<bool> is_shown = rows_to_show(rows, summary.most_rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const metrics::Row& row = rows[i];
    if (!is_shown[i]) {
      ++table.left_out;
      continue;
    }
    const auto time = [&](const std::optional<metrics::Spread>& of,
                          metrics::Figure metrics::Spread::*which) {
      const bool is_least_open = &of == &row.busy && row.is_least_open();
      return of ? time_cell((*of).*which, with_intervals, is_least_open) : "-";
    };
    std::vector<Cell>& cells = table.rows.emplace_back();
    if (by != nullptr) {
      cells.emplace_back(word_cell(row.by));
    }
    cells.insert(
        cells.end(),
        {row.function + (row.is_grouped ? " +" : ""), size_cell(row),
         word_cell(match::datatype_name(row.datatype)), word_cell(row.algorithm),
         word_cell(row.protocol), count_cell(row), ranks_cell(row),
         time(row.busy, &metrics::Spread::median) + (row.on_some_ranks > 0 ? "*" : ""),
         time(row.busy, &metrics::Spread::p99), time(row.wall, &metrics::Spread::median),
         wait_cell(row, with_intervals),
         bandwidth_cell(row.algbw_gb_s, row.algbw_inferred, with_intervals, row.is_least_open()),
         bandwidth_cell(row.busbw_gb_s, row.busbw_inferred, with_intervals, row.is_least_open()),
         times_from_name(row.times_from)});
    if (summary.with_nominal) {
      cells.insert(std::prev(cells.end()), bandwidth_cell(row.nominal_gb_s, row.busbw_inferred,
                                                          with_intervals, row.is_least_open()));
    }
    if (with_peaks) {
      cells.insert(std::prev(cells.end()), efficiency_cell(row, with_intervals));
    }
    if (by != nullptr) {
      const auto share = wait_share_percent(row, waited_ns);
      cells.emplace_back(share ? fixed(*share, 1) : "-");
    }
  }
  return table;
}

std::string summary_as_csv(const Summary& summary) {
  Table table{"rows", "", {}, {}};
  const auto add = [&](std::initializer_list<const char*> keys, int decimals = 0) {
    for (const char* const key : keys) {
      table.columns.push_back({key, "", Shown::kNot, "", decimals});
    }
  };
  add({"communicator", "name", "nranks", "nranks_inferred", "function", "bytes", "datatype",
       "algorithm", "protocol", "count", "partial", "ranks", "ranks_seen"});
  add({"time_median_us", "time_p99_us"}, 3);
  add({"algbw_gb_s", "busbw_gb_s"}, 6);
  add({"times_from"});
  add({"wall_median_us", "wait_median_us"}, 3);
  add({"on_some_ranks", "excluded", "bytes_min", "bytes_max"});
  add({"time_least_us", "time_most_us"}, 3);
  add({"busbw_least_gb_s", "busbw_most_gb_s", "nominal_gb_s"}, 6);
  const bool with_peaks = has_peaks(summary);
  if (with_peaks) {
    add({"peak_gb_s"}, 6);
    add({"peak_bound"});
    add({"efficiency_percent", "efficiency_least_percent", "efficiency_most_percent"}, 3);
  }
  const bool is_sampled = !summary.inputs.samplings.empty();
  if (is_sampled) {
    add({"count_scaled"});
  }
  const char* const by = column_of(summary.by);
  const std::int64_t waited_ns = all_waited_ns(summary.rows);
  if (by != nullptr) {
    add({"wait_share_percent"}, 3);
    add({by});
  }
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    const match::Communicator& communicator = summary.communicators[i];
    const std::string id = communicator.hash.empty() ? label_of(communicator)
                           : communicator.instance > 0
                               ? communicator.hash + '#' + std::to_string(communicator.instance + 1)
                               : communicator.hash;
    for (const metrics::Row& row : summary.rows[i].rows) {
      const auto busy_us = [&](metrics::Figure metrics::Spread::*which) {
        return row.busy ? cell_of(in_us(((*row.busy).*which).best)) : Cell();
      };
      const bool is_closed = !row.is_least_open();
      std::vector<Cell>& cells = table.rows.emplace_back();
      cells = {id,
               communicator.name,
               cell_of(communicator.nranks),
               communicator.nranks_inferred ? "true" : "false",
               row.function,
               cell_of(row.bytes),
               row.datatype,
               row.algorithm,
               row.protocol,
               row.count,
               row.partial,
               cell_of(row.ranks),
               cell_of(row.ranks_seen),
               busy_us(&metrics::Spread::median),
               busy_us(&metrics::Spread::p99),
               cell_of(best_of(row.algbw_gb_s)),
               cell_of(best_of(row.busbw_gb_s)),
               times_from_name(row.times_from),
               row.wall ? cell_of(in_us(row.wall->median.best)) : Cell(),
               row.wait ? cell_of(in_us(row.wait->median.best)) : Cell(),
               row.on_some_ranks,
               row.excluded,
               cell_of(row.bytes_min),
               cell_of(row.bytes_max),
               row.busy && is_closed ? cell_of(in_us(row.busy->median.least)) : Cell(),
               row.busy ? cell_of(in_us(row.busy->median.most)) : Cell(),
               row.busbw_gb_s ? Cell(row.busbw_gb_s->least) : Cell(),
               row.busbw_gb_s && is_closed && std::isfinite(row.busbw_gb_s->most)
                   ? Cell(row.busbw_gb_s->most)
                   : Cell(),
               cell_of(best_of(row.nominal_gb_s))};
      if (with_peaks) {
        const auto percent = row.efficiency_percent();
        const bool has_most = percent && is_closed && std::isfinite(percent->most);
        cells.insert(
            cells.end(),
            {row.peak ? Cell(row.peak->busbw_gb_s) : Cell(),
             row.peak ? Cell(std::string(row.peak->bound)) : Cell(), cell_of(best_of(percent)),
             percent ? Cell(percent->least) : Cell(), has_most ? Cell(percent->most) : Cell()});
      }
      if (is_sampled) {
        cells.emplace_back(row.count_scaled);
      }
      if (by != nullptr) {
        cells.push_back(cell_of(wait_share_percent(row, waited_ns)));
        cells.emplace_back(row.by);
      }
    }
  }
  return render_csv(table);
}

}  // namespace ringside::report
