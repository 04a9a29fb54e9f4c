// SPDX-License-Identifier: Apache-2.0
//
// The last of some ranks to arrive, as far as another rank can tell: times of its own host are
// certain but for the stamps, and those of other hosts as far as the clocks are known.
#ifndef RINGSIDE_ANALYZER_FACTS_LATEST_H
#define RINGSIDE_ANALYZER_FACTS_LATEST_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "analyzer/facts/rank_times.h"

namespace ringside::facts {

class Latest {
 public:
  /// Whether the arrivals are taken as early as they may have been, or as late.
  enum class Bound : std::uint8_t { kLeast, kMost };

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

  struct Moment {
    std::int64_t time_ns = kNever;
    std::uint32_t row = RankTimes::kNobody;
  };

  explicit Latest(Bound bound) : bound_(bound) {}

  /// Adds a rank that is waited for. `rows` are those of one operation, the same for each call.
  void add(std::span<const RankTimes> rows, std::uint32_t row);

  /// Forgets all ranks, and keeps the memory for others.
  void clear() {
    hosts_.clear();
    first_ = second_ = RankTimes::kNobody;
  }

  /// The last arrival among the ranks added but for `row` itself, on the clock of that row's host.
  /// kNever: there is none, or (kLeast) none on a clock that is known. kUnknown: (kMost) one is on
  /// a clock that is not known.
  Moment seen_from(std::span<const RankTimes> rows, std::uint32_t row) const;
  /// The same of the ranks of other hosts only.
  Moment elsewhere_from(std::span<const RankTimes> rows, std::uint32_t row) const;

 private:
  struct OfHost {
    std::int64_t clock_ns = 0;
    Moment last;
    Moment before;  // the last but one
    // The last arrival as other hosts see it, but for the uncertainty of their own clocks.
    std::int64_t key_ns = kNever;
  };

  std::int64_t key_of(const OfHost& host) const;

  const Bound bound_;
  std::vector<OfHost> hosts_;  // by host; grows as they are met
  // The hosts with the greatest keys.
  std::uint32_t first_ = RankTimes::kNobody;
  std::uint32_t second_ = RankTimes::kNobody;
};

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_LATEST_H
