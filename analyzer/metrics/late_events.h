// SPDX-License-Identifier: Apache-2.0
//
// When a rank was late: since when, how often, and with what period.
#ifndef RINGSIDE_ANALYZER_METRICS_LATE_EVENTS_H
#define RINGSIDE_ANALYZER_METRICS_LATE_EVENTS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::metrics {

/// An operation in which others waited for the rank.
struct LateEvent {
  std::int64_t at_ns = 0;      // common clock, since the epoch: its arrival
  std::uint64_t number = 0;    // of the operation among those of the rank, from 1
  std::int64_t cost_ns = 0;    // what all others waited, together
  std::int64_t margin_ns = 0;  // by how much it surely came after the one before it
};

/// The pattern of the `events` of one rank. Only those count that cost a quarter of a typical one
/// (the mean by cost), so that many small ones do not hide a few that matter.
struct LateTimes {
  std::uint64_t times = 0;
  std::int64_t cost_ns = 0;  // of these together
  std::optional<std::int64_t> since_ns;
  /// One of so many operations, and of how much time: where nine tenths of the distances are alike,
  /// and these are most of the operations from the first time on.
  std::optional<std::uint64_t> every_operations;
  std::optional<std::int64_t> every_ns;
};

/// `events` are in the order of time, of a rank that took part in so many operations.
LateTimes describe_events(const std::vector<LateEvent>& events, std::uint64_t operations);

/// Whether so many late arrivals fall on one of `count` less often than once in a hundred jobs.
bool are_no_chance(const LateTimes& times, std::size_t count);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LATE_EVENTS_H
