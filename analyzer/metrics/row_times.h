// SPDX-License-Identifier: Apache-2.0
//
// The times of the operations of one row: what the network did, and what the application saw.
#ifndef RINGSIDE_ANALYZER_METRICS_ROW_TIMES_H
#define RINGSIDE_ANALYZER_METRICS_ROW_TIMES_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// Of some durations; percentiles are nearest-rank, the median is the middle or the mean of two.
struct Distribution {
  std::int64_t min_ns = 0;
  double median_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

/// Nothing of no durations. Sorts them.
std::optional<Distribution> distribution_of(std::vector<std::int64_t>& durations_ns);

/// Collects the times of operations of one kind.
class RowTimes {
 public:
  /// What happened to the operation's time.
  enum class Taken : std::uint8_t {
    kBusy,      // from the last start to the last end, on the common clock
    kLeast,     // the least of the ranks' own durations: the clocks are not known well enough
    kExcluded,  // its times contradict each other
  };

  /// `least_ns`: the least of the ranks' own durations.
  Taken add(const model::Traces& traces, const match::Matches& matches,
            const align::Alignment& alignment, const match::MatchedOperation& operation,
            std::int64_t least_ns);

  /// The time of the operation that was added last; it was not excluded.
  std::int64_t last_ns() const { return busy_ns_.back(); }

  /// From the last start to the last end, or the least where that cannot be known.
  std::optional<Distribution> busy() { return distribution_of(busy_ns_); }
  /// Each rank's own start to its own end.
  std::optional<Distribution> wall() { return distribution_of(wall_ns_); }
  /// Each rank's own start to the last start: waiting for the others.
  std::optional<Distribution> wait() { return distribution_of(wait_ns_); }

 private:
  std::vector<std::int64_t> busy_ns_;
  std::vector<std::int64_t> wall_ns_;
  std::vector<std::int64_t> wait_ns_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROW_TIMES_H
