// SPDX-License-Identifier: Apache-2.0
//
// When the ranks of a matched operation came and went, on the common clock; waiting and transfer
// apart.
#ifndef RINGSIDE_ANALYZER_METRICS_TIMING_H
#define RINGSIDE_ANALYZER_METRICS_TIMING_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// Differences between stamps of one host below this are noise: callbacks, and the fits of two
/// GPUs' clocks.
inline constexpr std::int64_t kStampNoise_ns = 2'000;
/// A rank of a synchronising collective that seems to end so long before another starts, beyond
/// what is uncertain, has the stamps of another operation (NCCL keeps those of the last 64 only).
inline constexpr std::int64_t kImpossible_ns = 100'000;

/// Where the time of arrival comes from: the execution, or the call where only that is known.
enum class ArrivalFrom : std::uint8_t { kExecution, kCall };

struct Arrival {
  std::uint32_t part = 0;  // index into Matches::parts; of several of one rank, the first
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;  // absent where only the call is known
};

/// Of one operation, by arrival; times are of Alignment::to_common_ns.
struct Timing {
  ArrivalFrom from = ArrivalFrom::kExecution;
  std::vector<Arrival> arrivals;  // in the order of arrival
  std::int64_t last_end_ns = 0;   // meaningful if all have an end
  bool has_ends = false;
  bool is_impossible = false;  // its times contradict each other, or are absurd: trust none
  /// How far the order of the last two may be wrong; nothing if the clocks are not known.
  std::optional<std::int64_t> uncertainty_ns;

  std::int64_t first_start_ns() const { return arrivals.front().start_ns; }
  std::int64_t last_start_ns() const { return arrivals.back().start_ns; }
  /// From the last start to the last end: what the network did.
  std::int64_t busy_ns() const { return last_end_ns - last_start_ns(); }
  /// By how much the last came after the one before.
  std::int64_t margin_ns() const {
    return last_start_ns() - arrivals[arrivals.size() - 2].start_ns;
  }
  /// What all others waited for the last, together; no more than fits.
  std::int64_t waited_ns() const;
  /// Whether the last is surely the last.
  bool is_decided() const {
    return uncertainty_ns && margin_ns() > *uncertainty_ns + kStampNoise_ns;
  }
};

/// Whether it was seen to run, from start to end: on the GPU, or by what the network moved.
bool ran_to_its_end(const model::Operation& operation);

/// AllReduce, AllGather, ReduceScatter and full AlltoAll, be it a function or a group of sends and
/// receives: nobody ends before all have started.
bool is_synchronising(const model::Traces& traces, const match::MatchedOperation& operation);

/// Nothing where fewer than two ranks are there with a time.
std::optional<Timing> timing_of(const model::Traces& traces, const match::Matches& matches,
                                const align::Alignment& alignment,
                                const match::MatchedOperation& operation);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_TIMING_H
