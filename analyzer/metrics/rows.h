// SPDX-License-Identifier: Apache-2.0
//
// What all operations of one kind and size have in common: how many, how long, how fast.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict.h"
#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/row_times.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// Matched operations of one communicator that agree in function, bytes (but for AlltoAllv, whose
/// sizes follow the data), datatype, algorithm, protocol and the source of their times.
/// docs/metrics.md defines each figure.
struct Row {
  std::string range;  // of the application, in which they were called; empty if not asked for
  std::string function;
  /// The message. AlltoAllv of all sizes are one row: the middle one, of two the lower.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::string datatype;
  std::string algorithm;
  std::string protocol;
  model::TimesFrom times_from = model::TimesFrom::kEnqueue;  // the weakest of the ranks' sources

  std::uint64_t count = 0;
  /// How many there are to be thought of for these, in sampled traces; else `count`.
  double count_scaled = 0;
  bool is_sampled = false;
  std::uint64_t partial = 0;       // of them, those not recorded on all ranks
  std::uint32_t ranks = 0;         // that take part
  std::uint32_t ranks_seen = 0;    // the least number that recorded one of the operations
  bool ranks_inferred = false;     // `ranks` is from the ranks seen, there may be more
  std::uint64_t by_least = 0;      // whose time is the least of the ranks' own (RowTimes)
  std::uint64_t excluded = 0;      // whose times contradict each other: they count in no time
  std::uint64_t gpu_rejected = 0;  // of them, those where NCCL's stamps of a channel were left out
  std::optional<Distribution> busy;  // these are absent where no execution was seen
  std::optional<Distribution> wall;
  std::optional<Distribution> wait;  // absent where the clocks are not known well enough
  /// Of the median busy time; of AlltoAllv the median of each operation's own. Empty for
  /// proxy_queue and enqueue.
  Bandwidth bandwidth;
  bool algbw_inferred = false;  // depends on an inferred number of ranks
  bool busbw_inferred = false;
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

/// What the operation is listed as: its function, "SendRecv" for a pair, the pattern of a group.
std::string_view function_of(const model::Traces& traces, const match::MatchedOperation& operation);

/// Whether the least of the ranks' own durations says too little of the function: a rank may be
/// done with its part long before the others.
bool least_flatters(std::string_view function);

/// Sums up each communicator, in the order of Matches::communicators. Operations whose ranks
/// disagree, and those not seen to finish, are counted and not in any row. `by_range`: operations
/// of a row were called in the same range, too, and rows are sorted by it first.
std::vector<CommunicatorRows> make_rows(const model::Traces& traces, const match::Matches& matches,
                                        const align::Alignment& alignment, bool by_range = false);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_H
