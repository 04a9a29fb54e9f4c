// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_FRESH_WAITS_H
#define RINGSIDE_ANALYZER_METRICS_FRESH_WAITS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/facts/interval.h"
#include "analyzer/facts/rank_times.h"

namespace ringside::metrics {

/// A rank can wait in several operations at once: in those of a group, which run as one kernel, and
/// in those of several streams. This tells how much of each wait is not within earlier ones, so
/// that each moment of a rank counts once. Takes operations in the order of their last arrivals.
class FreshWaits {
 public:
  explicit FreshWaits(std::size_t ranks) : ranks_(ranks) {}

  /// `wait`: what that rank waited in an operation, in which its times are `row`. Returns the part
  /// of it that is surely beyond all before, and the most that may be.
  facts::Interval take(std::uint32_t rank, const facts::RankTimes& row, facts::Interval wait);

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(ranks_);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  // For the least, all before the end of the last wait counts as waited. For the most, only the
  // wait before does, with those that it touches.
  struct OfRank {
    std::int64_t surely_until_ns = kNever;
    std::int64_t possibly_from_ns = kNever;
    std::int64_t possibly_until_ns = kNever;
  };

  std::vector<OfRank> ranks_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_FRESH_WAITS_H
