// SPDX-License-Identifier: Apache-2.0
//
// When one rank came to an operation and left it, and how well that is known.
#ifndef RINGSIDE_ANALYZER_FACTS_RANK_TIMES_H
#define RINGSIDE_ANALYZER_FACTS_RANK_TIMES_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/facts/interval.h"
#include "analyzer/model/operation.h"

namespace ringside::facts {

/// The uncertainty of a host's clock where nothing bounds it.
inline constexpr std::int64_t kUnknownClock_ns = std::numeric_limits<std::int64_t>::max();

/// One rank in one operation. Times are on the common clock.
struct RankTimes {
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t member = 0;    // index into Communicator::members
  std::uint32_t file = 0;      // index into Traces::files
  std::uint32_t host = 0;      // index into Alignment::hosts()
  std::uint32_t part = 0;      // index into Matches::parts; of several of this rank the first
  bool has_execution = false;  // else arrival_ns and end_ns are those of the call
  /// It needs others, or they need each other: its time in the operation and its wait count in
  /// rows. The root of a Broadcast only fills buffers, as those do that send to that of a Reduce.
  bool shows_time = false;
  model::TimesFrom times_from = model::TimesFrom::kEnqueue;  // of that part
  std::int64_t arrival_ns = 0;  // the start of its execution; its call, where open_ns is not 0
  // It may have arrived by this much later than arrival_ns: it was first seen then, when its GPU
  // gave or took data for which it may have waited.
  std::int64_t open_ns = 0;
  std::int64_t end_ns = 0;    // not before arrival_ns + open_ns
  align::StampError error;    // of these times, on the rank's own host
  std::int64_t clock_ns = 0;  // the uncertainty of that host's clock against the reference
  /// Its wait within its own execution for ranks that it needs: surely least_ns, and not more than
  /// most_ns. A rank that was not seen to run has 0 and 0.
  Interval wait;
  /// Within wait: its wait for ranks that it surely needs, as the stamps show it.
  std::int64_t best_wait_ns = 0;
  /// The rank for which it surely waited wait.least_ns, as an index into the operation's rows;
  /// kNobody if that is 0.
  std::uint32_t waits_for = kNobody;

  /// Its time in the operation as its stamps show it: at most, where it may have come later.
  std::int64_t wall_ns() const { return subtract_saturating(end_ns, arrival_ns); }
  /// From the moment at which it was first seen.
  std::int64_t first_seen_ns() const { return add_saturating(arrival_ns, open_ns); }
  std::int64_t seen_wall_ns() const { return subtract_saturating(wall_ns(), open_ns); }
  /// wall_ns() as its stamps bound it.
  std::int64_t least_wall_ns() const {
    return subtract_saturating(wall_ns(), add_saturating(open_ns, error.step_ns));
  }
  std::int64_t most_wall_ns() const { return add_saturating(wall_ns(), error.step_ns); }
  /// Its arrival, as early and as late as the stamps of its own host allow.
  std::int64_t earliest_ns() const { return subtract_saturating(arrival_ns, error.late_ns); }
  std::int64_t latest_ns() const {
    return add_saturating(arrival_ns, add_saturating(open_ns, error.early_ns));
  }
};

/// How far the difference of two stamps of different ranks may be from the truth because of their
/// hosts' clocks: 0 within a host, kUnknownClock_ns where one of them is not bounded.
std::int64_t clock_error_ns(const RankTimes& a, const RankTimes& b);

/// Bounds the arrival of `later` less the arrival of `earlier`; nothing if their clocks are not
/// known.
std::optional<Interval> arrival_difference(const RankTimes& earlier, const RankTimes& later);

/// Bounds by how much the last of the rows came after all others; `rows` are by arrival. It is
/// surely the last if the least is above 0. Nothing of fewer than two rows, or if a clock is not
/// known.
std::optional<Interval> margin_of_last(std::span<const RankTimes> rows);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_RANK_TIMES_H
