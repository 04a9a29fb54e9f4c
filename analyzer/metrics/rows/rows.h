// SPDX-License-Identifier: Apache-2.0
//
// The figures of all operations of one kind and size: how many, how long, how fast.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_ROWS_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_ROWS_H

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/machine/peak.h"
#include "analyzer/metrics/rows/grouping.h"
#include "analyzer/metrics/rows/row_times.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// Matched operations of one communicator that agree in function, bytes (but for AlltoAllv, whose
/// sizes follow the data), datatype, algorithm, protocol and the source of their times.
/// docs/metrics.md defines each figure.
struct Row {
  std::string by;  // the text of RowsBy; empty if there is none, or if it was not asked for
  std::string function;
  /// The message. AlltoAllv of all sizes are one row: the middle one, of two the lower.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::string datatype;
  std::string algorithm;
  std::string protocol;
  /// The weakest source of the ranks that were seen to run it; where none was, of all.
  model::TimesFrom times_from = model::TimesFrom::kEnqueue;

  bool is_group = false;    // collectives that were called together; bytes are those of all
  bool is_grouped = false;  // they are members of such groups, which have their times
  std::uint64_t count = 0;
  /// How many there are to be thought of for these, in sampled traces; else `count`.
  double count_scaled = 0;
  bool is_sampled = false;
  std::uint64_t partial = 0;        // of them, those not recorded on all ranks
  std::uint32_t ranks = 0;          // that take part
  std::uint32_t ranks_seen = 0;     // the least number that recorded one of the operations
  bool ranks_inferred = false;      // `ranks` is from the ranks seen, there may be more
  std::uint64_t on_some_ranks = 0;  // of which not every rank was seen to run them
  std::uint64_t excluded = 0;       // whose times contradict each other: they count in no time
  std::uint64_t gpu_rejected = 0;   // of them, those where NCCL's stamps of a channel were left out
  std::uint64_t captured = 0;       // of them, calls captured in a CUDA graph, which did not run
  std::uint64_t replayed = 0;       // of them, those of a CUDA graph that were seen to run
  std::optional<Spread> busy;       // these are absent where no execution was seen
  std::optional<Spread> wall;
  std::optional<Spread> wait;
  std::int64_t waited_ns = 0;  // the sum of the ranks' waits
  /// The bandwidth by the median busy time; for AlltoAllv the median of the operations' bandwidths.
  /// Empty for proxy_queue and enqueue.
  std::optional<Figure> algbw_gb_s;
  std::optional<Figure> busbw_gb_s;
  std::optional<Figure> nominal_gb_s;  // likewise; see metrics::Bandwidth
  /// The most busbw that links allow, or that a baseline has reached; nothing if it is not known.
  std::optional<Peak> peak;
  bool algbw_inferred = false;  // depends on an inferred number of ranks
  bool busbw_inferred = false;

  /// The time of all its operations, by the median.
  double total_busy_ns() const { return busy ? busy->median.best * static_cast<double>(count) : 0; }
  /// A rank that was not seen to run may have come last: then the data took less time than the
  /// ranks that were seen say, by any amount. Their time is shown all the same, marked.
  bool is_least_open() const { return on_some_ranks > 0; }

  /// busbw as a part of the peak, in percent.
  std::optional<Figure> efficiency_percent() const {
    if (!peak || !busbw_gb_s || !(peak->busbw_gb_s > 0)) {
      return std::nullopt;
    }
    const double factor = 100 / peak->busbw_gb_s;
    return Figure{busbw_gb_s->least * factor, busbw_gb_s->best * factor, busbw_gb_s->most * factor};
  }

  /// The interval of the median wait is wider than a tenth of the median wall. A wait may be 0, so
  /// its own size is no measure of its interval.
  bool is_wait_vague() const {
    return wait->median.most - wait->median.least > wall->median.best / 10;
  }
};

/// All of one communicator.
struct CommunicatorRows {
  std::uint64_t operations = 0;  // matched ones, in rows or not
  std::array<std::uint64_t, match::kVerdictCount> verdicts{};
  std::array<std::uint64_t, model::kStateCount> unfinished{};  // by the weakest state of the ranks
  std::uint64_t repeated = 0;         // with a sequence number that had come before
  std::vector<std::string> examples;  // the first few operations that do not match
  std::uint64_t examples_left_out = 0;
  std::vector<Row> rows;  // by function, bytes, datatype, algorithm, protocol, source
};

/// The name of an operation in the list: its function, "SendRecv" for a pair, the pattern of a
/// group.
std::string_view function_of(const model::Traces& traces, const match::MatchedOperation& operation);

/// Sums up each communicator, in the order of Matches::communicators. Operations whose ranks
/// disagree, and those not seen to finish, are counted and not in any row. Rows are sorted by the
/// text of `by` first. `also`: sums them up besides, of the same reading.
std::vector<CommunicatorRows> make_rows(const facts::Facts& facts, RowsBy by = RowsBy::kKind,
                                        const facts::Fold& also = {});

/// Gives each row whose links are known its peak. Collectives that were called together have none.
void add_peaks(const model::Traces& traces, const match::Matches& matches,
               std::vector<CommunicatorRows>& rows);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_ROWS_H
