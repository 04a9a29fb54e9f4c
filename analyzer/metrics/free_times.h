// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_FREE_TIMES_H
#define RINGSIDE_ANALYZER_METRICS_FREE_TIMES_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// How long ranks had been free of a communicator when they came to its next operation. Takes the
/// operations in the order of their last arrivals.
class FreeTimes {
 public:
  explicit FreeTimes(const std::vector<match::Communicator>& communicators);

  /// Notes when each rank left an operation; with `is_seen`, all of them were seen to run it.
  void note_ends(std::uint32_t communicator, const std::vector<facts::RankTimes>& rows,
                 bool is_seen);

  /// Nothing if the rank was not seen to leave the operation before.
  std::optional<std::int64_t> of(std::uint32_t communicator, const facts::RankTimes& row) const;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(ready_ns_, is_ready_seen_);
  }

 private:
  std::vector<std::vector<std::int64_t>> ready_ns_;  // by communicator and member
  std::vector<std::vector<bool>> is_ready_seen_;     // likewise: it ran the last operation
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_FREE_TIMES_H
