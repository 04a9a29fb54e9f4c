// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/model/parallel.h"
#include "analyzer/replay/waits.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::report {
namespace {

using metrics::Row;
using Which = metrics::Figure metrics::Spread::*;

std::int64_t to_ns(double value_ns) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::clamp(value_ns, -kMost, kMost));
}

// The bandwidth if it took that long instead of the median. AlltoAllv has none: its sizes differ,
// so a time says nothing about a bandwidth.
Cell busbw_at(const metrics::Row& row, Which which) {
  if (!row.busy || !row.busbw_gb_s || row.bytes_min != row.bytes_max) {
    return {};
  }
  const double time_ns = ((*row.busy).*which).best;
  return time_ns > 0 ? Cell(row.busbw_gb_s->best * row.busy->median.best / time_ns) : Cell();
}

void add_wait_maps(PageData& data) {
  for (const auto& replay : data.replays.runs) {
    const replay::Job& job = replay->job();
    const metrics::RunIterations* const run =
        replay::add_waits(job, data.replays.coverage[job.run].is_enough(), data.iterations);
    WaitMap map = make_wait_map(job, run);
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
  replay::PartsFinder parts(facts);
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
      [&] { data.replays = replay::make_replays(parts.take(), data.traces, data.matches); },
      [&] { data.network = metrics::find_network(data.traces, data.alignment); }};
  for_each_on_cores(sections.size(), [&](std::size_t, std::size_t i) { sections[i](); });
  auto waits_ns = data.replays.waits_by_rank();
  for (metrics::RankShares& rank : data.shares.ranks) {
    rank.set_waiting(waits_ns[{rank.file, rank.label}]);
  }
  add_wait_maps(data);
  return data;
}

Table bandwidth_table(const Summary& summary) {
  const auto time = [](std::optional<metrics::Spread> Row::*times, Which which) {
    return [=](const SummaryRow& one) {
      const auto& known = one.row.*times;
      return known ? Cell(to_ns(((*known).*which).best)) : Cell();
    };
  };
  const auto best = [](std::optional<metrics::Figure> Row::*figure) {
    return [=](const SummaryRow& one) {
      return one.row.*figure ? Cell((*(one.row.*figure)).best) : Cell();
    };
  };
  const Shown of_peaks = has_peaks(summary) ? Shown::kNumber : Shown::kAbsent;
  constexpr Which kMedian = &metrics::Spread::median;
  return table_of(
      "bandwidth", "Operations of one kind", all_rows(summary),
      {{"communicator", "communicator", [](auto& one) { return label_of(one.communicator); }},
       {"function", "function", [](auto& one) { return one.row.function; }},
       {"bytes", "message", Shown::kBytes, [](auto& one) { return one.row.bytes; }},
       {"datatype", "datatype", [](auto& one) { return match::datatype_name(one.row.datatype); }},
       {"algorithm", "algorithm", [](auto& one) { return one.row.algorithm; }},
       {"protocol", "protocol", [](auto& one) { return one.row.protocol; }},
       {"ranks", "ranks", Shown::kInteger, [](auto& one) { return one.row.ranks; }},
       {"count", "count", Shown::kInteger, [](auto& one) { return one.row.count; }},
       {"time_median_ns", "time", Shown::kDuration, "median", time(&Row::busy, kMedian)},
       {"time_p99_ns", "p99", Shown::kDuration, time(&Row::busy, &metrics::Spread::p99)},
       {"wall_median_ns", "wall", Shown::kDuration, "median", time(&Row::wall, kMedian)},
       {"wait_median_ns", "wait", Shown::kDuration, "median", time(&Row::wait, kMedian)},
       {"algbw_gb_s", "algbw", Shown::kNumber, "GB/s", best(&Row::algbw_gb_s)},
       {"busbw_gb_s", "busbw", Shown::kNumber, "GB/s", best(&Row::busbw_gb_s)},
       {"peak_gb_s", "peak", of_peaks, "GB/s",
        [](auto& one) { return one.row.peak ? Cell(one.row.peak->busbw_gb_s) : Cell(); }},
       {"efficiency_percent", "of peak", of_peaks, "%", 1,
        [](auto& one) {
          const auto percent = one.row.efficiency_percent();
          return percent ? Cell(percent->best) : Cell();
        }},
       {"busbw_p90_gb_s", "busbw, slow", Shown::kNumber, "GB/s",
        [](auto& one) { return busbw_at(one.row, &metrics::Spread::p90); }},
       {"busbw_best_gb_s", "busbw, best", Shown::kNumber, "GB/s",
        [](auto& one) { return busbw_at(one.row, &metrics::Spread::min); }},
       {"times_from", "times from", [](auto& one) { return times_from_name(one.row.times_from); }},
       {"on_some_ranks", "on some ranks", Shown::kInteger,
        [](auto& one) { return one.row.on_some_ranks; }},
       {"ranks_inferred", "ranks inferred", [](auto& one) { return one.row.busbw_inferred; }}},
      {"ranks_inferred", "on_some_ranks", "busbw_best_gb_s", "busbw_p90_gb_s", "times_from",
       "datatype", "wall_median_ns", "protocol", "algbw_gb_s", "time_p99_ns"});
}

Table shares_table(const PageData& data) {
  using Rank = metrics::RankShares;
  return table_of(
      "shares", "How each rank spent its time", data.shares.ranks,
      {{"rank", "rank", Shown::kRank, &Rank::label},
       {"host", "host", &Rank::host},
       {"span_ns", "in all", Shown::kDuration, &Rank::span_ns},
       {"transfer_ns", "transfer", Shown::kDuration, &Rank::transfer_ns},
       {"waiting_ns", "waiting", Shown::kDuration,
        [&](auto& rank) { return data.knows_waits() ? Cell(rank.waiting_ns) : Cell(); }},
       {"enqueued_ns", "enqueued", Shown::kDuration, &Rank::enqueued_ns},
       {"outside_ns", "outside NCCL", Shown::kDuration, &Rank::outside_ns},
       {"operations", "operations", Shown::kInteger, &Rank::operations},
       {"without_times", "without times", Shown::kInteger, &Rank::without_times}});
}

Table traces_table(const PageData& data) {
  using File = model::TraceFile;
  return table_of(
      "traces", "Traces", data.traces.files,
      {{"path", "trace", &File::path},
       {"host", "host", [](auto& file) { return file.process.host; }},
       {"pid", "pid", Shown::kInteger, [](auto& file) { return file.process.pid; }},
       {"rank", "rank", Shown::kInteger, [](auto& file) { return file.process.launcher_rank; }},
       {"operations", "operations", Shown::kInteger,
        [](auto& file) { return file.operations.size(); }},
       {"bytes", "size", Shown::kBytes, &File::size_bytes},
       {"state", "state", &trace_kind},
       {"dropped", "dropped", Shown::kInteger, "callbacks",
        [](auto& file) {
          const auto& dropped = file.account.dropped;
          return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                                 [](auto sum, auto& one) { return sum + one.second; });
        }},
       {"sampled_out", "sampled out", Shown::kInteger, "callbacks",
        [](auto& file) { return file.account.sampled_out; }},
       {"bad_lines", "bad lines", Shown::kInteger, &File::bad_lines}});
}

}  // namespace ringside::report
