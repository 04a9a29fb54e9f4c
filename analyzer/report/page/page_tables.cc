// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/model/parallel.h"
#include "analyzer/replay/waits.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::report {
namespace {

constexpr std::ptrdiff_t kBusbwColumn = 13;  // of the table of bandwidths

std::int64_t to_ns(double value_ns) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::clamp(value_ns, -kMost, kMost));
}

// The bandwidth if it took that long instead of the median. AlltoAllv has none: its sizes differ,
// so a time says nothing about a bandwidth.
Cell busbw_at(const metrics::Row& row, metrics::Figure metrics::Spread::*which) {
  if (!row.busy || !row.busbw_gb_s || row.bytes_min != row.bytes_max) {
    return {};
  }
  const double time_ns = ((*row.busy).*which).best;
  return time_ns > 0 ? Cell(row.busbw_gb_s->best * row.busy->median.best / time_ns) : Cell();
}

std::vector<Cell> bandwidth_row(const std::string& label, const metrics::Row& row,
                                bool with_peaks) {
  const auto duration = [](const std::optional<metrics::Spread>& times,
                           metrics::Figure metrics::Spread::*which) {
    return times ? Cell(to_ns(((*times).*which).best)) : Cell();
  };
  const auto bandwidth = [](const std::optional<metrics::Figure>& figure) {
    return figure ? Cell(figure->best) : Cell();
  };
  std::vector<Cell> cells = {label,
                             row.function,
                             cell_of(row.bytes),
                             match::datatype_name(row.datatype),
                             row.algorithm,
                             row.protocol,
                             std::uint64_t{row.ranks},
                             row.count,
                             duration(row.busy, &metrics::Spread::median),
                             duration(row.busy, &metrics::Spread::p99),
                             duration(row.wall, &metrics::Spread::median),
                             duration(row.wait, &metrics::Spread::median),
                             bandwidth(row.algbw_gb_s),
                             bandwidth(row.busbw_gb_s),
                             busbw_at(row, &metrics::Spread::p90),
                             busbw_at(row, &metrics::Spread::min),
                             std::string(times_from_name(row.times_from)),
                             row.on_some_ranks,
                             row.busbw_inferred};
  if (with_peaks) {
    const auto at = cells.begin() + kBusbwColumn + 1;
    const auto percent = row.efficiency_percent();
    cells.insert(at, {row.peak ? Cell(row.peak->busbw_gb_s) : Cell(),
                      percent ? Cell(percent->best) : Cell()});
  }
  return cells;
}

void add_wait_maps(PageData& data) {
  for (const auto& replay : data.replays.runs) {
    const replay::Job& job = replay->job();
    const metrics::RunIterations* const run =
        replay::add_waits(job, data.replays.coverage.is_enough(), data.iterations);
    replay::WaitMap map = replay::make_wait_map(job, run);
    if (!map.rows.empty()) {
      data.wait_maps.push_back(std::move(map));
    }
  }
}

}  // namespace

PageData make_page_data(const facts::Facts& facts, const model::Problems& problems,
                        std::vector<std::string> duplicates) {
  PageData data{facts.traces(), facts.matches(), facts.alignment(), facts.judgements(),
                count_unread(facts.traces(), problems) == 0};
  replay::PartsFinder parts(facts, metrics::RowsBy::kCaller);
  {
    // All that needs the facts of the operations is found of one reading of them.
    metrics::TimeShares shares(facts);
    data.summary = make_summary(facts, problems, std::move(duplicates), metrics::RowsBy::kKind,
                                [&](std::size_t thread, const facts::SeenOperation& seen) {
                                  shares.add(thread, seen);
                                  parts.add(thread, seen);
                                });
    data.shares = shares.finish();
  }
  const std::array<std::function<void()>, 3> sections = {
      [&] { data.iterations = metrics::find_iterations(facts, 0); },
      [&] {
        data.replays =
            replay::make_replays(parts.take(), data.traces, data.matches, metrics::RowsBy::kCaller);
      },
      [&] { data.network = metrics::find_network(data.traces, data.alignment); }};
  for_each_on_cores(sections.size(), [&](std::size_t, std::size_t i) { sections[i](); });
  add_wait_maps(data);
  return data;
}

Table bandwidth_table(const Summary& summary) {
  Table table = {"bandwidth",
                 "Operations of one kind",
                 {{"communicator", "communicator"},
                  {"function", "function"},
                  {"bytes", "message", Shown::kBytes},
                  {"datatype", "datatype"},
                  {"algorithm", "algorithm"},
                  {"protocol", "protocol"},
                  {"ranks", "ranks", Shown::kInteger},
                  {"count", "count", Shown::kInteger},
                  {"time_median_ns", "time", Shown::kDuration, "median"},
                  {"time_p99_ns", "p99", Shown::kDuration},
                  {"wall_median_ns", "wall", Shown::kDuration, "median"},
                  {"wait_median_ns", "wait", Shown::kDuration, "median"},
                  {"algbw_gb_s", "algbw", Shown::kNumber, "GB/s"},
                  {"busbw_gb_s", "busbw", Shown::kNumber, "GB/s"},
                  {"busbw_p90_gb_s", "busbw, slow", Shown::kNumber, "GB/s"},
                  {"busbw_best_gb_s", "busbw, best", Shown::kNumber, "GB/s"},
                  {"times_from", "times from"},
                  {"on_some_ranks", "on some ranks", Shown::kInteger},
                  {"ranks_inferred", "ranks inferred"}},
                 {}};
  const bool with_peaks = has_peaks(summary);
  if (with_peaks) {
    table.columns.insert(table.columns.begin() + kBusbwColumn + 1,
                         {{"peak_gb_s", "peak", Shown::kNumber, "GB/s"},
                          {"efficiency_percent", "of peak", Shown::kNumber, "%", 1}});
  }
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    for (const metrics::Row& row : summary.rows[i].rows) {
      table.rows.push_back(bandwidth_row(label_of(summary.communicators[i]), row, with_peaks));
    }
  }
  return table;
}

Table shares_table(const std::vector<metrics::RankShares>& shares) {
  Table table = {"shares",
                 "How each rank spent its time",
                 {{"rank", "rank"},
                  {"host", "host"},
                  {"span_ns", "in all", Shown::kDuration},
                  {"transfer_ns", "transfer", Shown::kDuration},
                  {"waiting_ns", "waiting", Shown::kDuration},
                  {"enqueued_ns", "enqueued", Shown::kDuration},
                  {"outside_ns", "outside NCCL", Shown::kDuration},
                  {"operations", "operations", Shown::kInteger},
                  {"without_times", "without times", Shown::kInteger},
                  {"undivided", "waiting unknown", Shown::kInteger}},
                 {}};
  for (const metrics::RankShares& rank : shares) {
    table.rows.push_back({rank.label, rank.host, rank.span_ns, rank.transfer_ns,
                          rank.knows_waiting() ? Cell(rank.waiting_ns) : Cell(), rank.enqueued_ns,
                          rank.outside_ns, rank.operations, rank.without_times, rank.undivided});
  }
  return table;
}

Table traces_table(const PageData& data) {
  Table table = {"traces",
                 "Traces",
                 {{"path", "trace"},
                  {"host", "host"},
                  {"pid", "pid", Shown::kInteger},
                  {"rank", "rank", Shown::kInteger},
                  {"operations", "operations", Shown::kInteger},
                  {"bytes", "size", Shown::kBytes},
                  {"state", "state"},
                  {"dropped", "dropped", Shown::kInteger, "callbacks"},
                  {"sampled_out", "sampled out", Shown::kInteger, "callbacks"},
                  {"bad_lines", "bad lines", Shown::kInteger}},
                 {}};
  for (const model::TraceFile& file : data.traces.files) {
    std::uint64_t dropped = 0;
    for (const auto& [what, callbacks] : file.account.dropped) {
      dropped += callbacks;
    }
    table.rows.push_back({file.path, file.process.host, file.process.pid,
                          cell_of(file.process.launcher_rank), file.operations.size(),
                          file.size_bytes,
                          std::string(file.recovered      ? "recovered"
                                      : file.process.dump ? "dump"
                                      : file.closed       ? "closed"
                                                          : "not closed"),
                          dropped, file.account.sampled_out, file.bad_lines});
  }
  return table;
}

}  // namespace ringside::report
