// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/report/page/page_data.h"

namespace ringside::report {
namespace {

std::int64_t to_ns(double value_ns) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::clamp(value_ns, -kMost, kMost));
}

// The bandwidth if it took that long instead of the median. Not of AlltoAllv, whose sizes differ:
// there a time says nothing of a bandwidth.
Cell busbw_at(const metrics::Row& row, std::int64_t time_ns) {
  if (!row.bandwidth.busbw_gb_s || time_ns <= 0 || row.bytes_min != row.bytes_max) {
    return {};
  }
  return *row.bandwidth.busbw_gb_s * row.busy->median_ns / static_cast<double>(time_ns);
}

std::vector<Cell> bandwidth_row(const std::string& label, const metrics::Row& row) {
  const auto median = [](const std::optional<metrics::Distribution>& times) {
    return times ? Cell(to_ns(times->median_ns)) : Cell();
  };
  return {label,
          row.function,
          cell_of(row.bytes),
          row.datatype,
          row.algorithm,
          row.protocol,
          std::uint64_t{row.ranks},
          row.count,
          median(row.busy),
          row.busy ? Cell(row.busy->p99_ns) : Cell(),
          median(row.wall),
          median(row.wait),
          cell_of(row.bandwidth.algbw_gb_s),
          cell_of(row.bandwidth.busbw_gb_s),
          row.busy ? busbw_at(row, row.busy->p90_ns) : Cell(),
          row.busy ? busbw_at(row, row.busy->min_ns) : Cell(),
          std::string(times_from_name(row.times_from)),
          row.by_least,
          std::string(row.busbw_inferred ? "yes" : "no")};
}

}  // namespace

std::vector<std::string> distinct_labels(const std::vector<match::Communicator>& communicators) {
  std::map<std::string, std::size_t> times;
  for (const match::Communicator& communicator : communicators) {
    ++times[label_of(communicator)];
  }
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    std::string label = label_of(communicators[i]);
    if (times[label] > 1) {
      const std::string& hash = communicators[i].hash;
      label += hash.empty() || hash == label ? " #" + std::to_string(i + 1) : ' ' + hash;
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

PageData make_page_data(const model::Traces& traces, const match::Matches& matches,
                        const align::Alignment& alignment, const Summary& summary) {
  PageData data{traces, matches, alignment, summary, {}, {}, {}, {}, {}, {}};
  data.stragglers = metrics::find_stragglers(traces, matches, alignment);
  data.iterations = metrics::find_iterations(traces, matches, alignment, 0);
  data.shares = metrics::find_time_shares(traces, matches, alignment);
  data.late_maps = metrics::find_late_maps(traces, matches, alignment, data.iterations);
  data.network = metrics::find_network(traces);
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
                  {"by_least", "by least", Shown::kInteger},
                  {"ranks_inferred", "ranks inferred"}},
                 {}};
  const auto labels = distinct_labels(summary.communicators);
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    for (const metrics::Row& row : summary.rows[i].rows) {
      table.rows.push_back(bandwidth_row(labels[i], row));
    }
  }
  return table;
}

Table shares_table(const std::vector<metrics::RankShares>& shares) {
  Table table = {"shares",
                 "Where the time of each rank went",
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
    table.rows.push_back({rank.label, rank.host, rank.span_ns, rank.transfer_ns, rank.waiting_ns,
                          rank.enqueued_ns, rank.outside_ns, rank.operations, rank.without_times,
                          rank.undivided});
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
                          cell_of(file.process.launcher_rank),
                          std::uint64_t{file.operations.size()}, file.size_bytes,
                          std::string(file.recovered      ? "recovered"
                                      : file.process.dump ? "dump"
                                      : file.closed       ? "closed"
                                                          : "not closed"),
                          dropped, file.account.sampled_out, file.bad_lines});
  }
  return table;
}

}  // namespace ringside::report
