// SPDX-License-Identifier: Apache-2.0
//
// When one rank came to an operation and left it, and how well that is known.
#ifndef RINGSIDE_ANALYZER_FACTS_RANK_TIMES_H
#define RINGSIDE_ANALYZER_FACTS_RANK_TIMES_H

#include <cstdint>
#include <limits>

#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/facts/interval.h"
#include "analyzer/model/operation.h"

namespace ringside::facts {

/// The uncertainty of a host's clock where nothing bounds it.
inline constexpr std::int64_t kUnknownClock_ns = std::numeric_limits<std::int64_t>::max();

/// Stamps that are closer to each other are the same moment.
inline constexpr std::int64_t kSameMoment_ns = 8'000;

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
  /// How long it waited for other ranks: the part of its execution in which its data did not move.
  /// 0 of a rank that was not seen to run.
  std::int64_t best_wait_ns = 0;
  Interval wait;  // what that may be
  /// For whom, as an index into the operation's rows; kNobody if that is no more than a moment.
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
  /// Its arrival, as early as the stamps of its own host allow.
  std::int64_t earliest_ns() const { return subtract_saturating(arrival_ns, error.late_ns); }
};

/// How far the difference of two stamps of different ranks may be from the truth because of their
/// hosts' clocks: 0 within a host, kUnknownClock_ns where one of them is not bounded.
inline std::int64_t clock_error_ns(const RankTimes& a, const RankTimes& b) {
  return a.host == b.host ? 0 : add_saturating(a.clock_ns, b.clock_ns);
}

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_RANK_TIMES_H
