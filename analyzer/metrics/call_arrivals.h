// SPDX-License-Identifier: Apache-2.0
//
// When ranks could come to the next operation of a communicator, and when they came if only their
// calls are known.
#ifndef RINGSIDE_ANALYZER_METRICS_CALL_ARRIVALS_H
#define RINGSIDE_ANALYZER_METRICS_CALL_ARRIVALS_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// Takes the operations in the order of their last arrivals.
class CallArrivals {
 public:
  explicit CallArrivals(const facts::Facts& facts);

  /// Replaces the arrivals of `rows` by calls: some ranks have only a call, so the calls of all are
  /// compared. A rank that called before the last one counts as waiting from its call on. A
  /// communicator runs its operations in their order, so a rank's wait in the operation before does
  /// not count again.
  void take_calls(std::uint32_t communicator, std::vector<facts::RankTimes>& rows) const;

  /// Notes when each rank left an operation; with `is_by_call`, one of take_calls().
  void note_ends(std::uint32_t communicator, const std::vector<facts::RankTimes>& rows,
                 bool is_by_call);

  /// How long a rank had been free of the communicator when it arrived; nothing if it was not seen
  /// to leave the operation before.
  std::optional<std::int64_t> own_time_ns(std::uint32_t communicator,
                                          const facts::RankTimes& row) const;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(ready_ns_, is_ready_seen_);
  }

 private:
  const facts::Facts& facts_;
  std::vector<std::vector<std::int64_t>> ready_ns_;  // by communicator and member
  std::vector<std::vector<bool>> is_ready_seen_;     // likewise: it ran the last operation
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CALL_ARRIVALS_H
