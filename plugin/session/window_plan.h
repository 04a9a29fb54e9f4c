// SPDX-License-Identifier: Apache-2.0
//
// The orders of the control socket for later: a start at a moment, and the end of a window at a
// moment, after some time, or after some operations. The plan knows no clock and no session: its
// callers give the times.
#ifndef RINGSIDE_PLUGIN_SESSION_WINDOW_PLAN_H
#define RINGSIDE_PLUGIN_SESSION_WINDOW_PLAN_H

#include <cstdint>
#include <optional>

#include "plugin/config/events.h"

namespace ringside::session {

struct PlannedStart {
  std::int64_t at_realtime_ns = 0;  ///< 0: as soon as the drain thread looks
  std::uint64_t operations = 0;     ///< the window ends when so many have begun; 0: no bound
  std::int64_t duration_ns = 0;     ///< the window ends after so long; 0: no bound
  std::optional<config::EventChoice> events;  ///< no value: those of the window, or as configured
};

/// The wall clock, a clock that is never set, and how many operations of this process the drain
/// thread has seen begin.
struct PlanTime {
  std::int64_t realtime_ns = 0;
  std::int64_t monotonic_ns = 0;
  std::uint64_t operations = 0;
};

class WindowPlan {
 public:
  enum class Due { kNothing, kStart, kStop };

  /// Replaces all that was ordered before.
  void order_start(const PlannedStart& start);
  /// The stop is added to the start that is ordered and to its bounds.
  void order_stop(std::int64_t at_realtime_ns) { stop_at_realtime_ns_ = at_realtime_ns; }
  void clear() { *this = {}; }
  /// Somebody else has ended the window, or begun it anew, so its bounds mean nothing any more. A
  /// start that is still to come stays.
  void forget_window() {
    end_monotonic_ns_ = 0;
    end_operations_ = 0;
  }

  /// The action that is due now; the next call takes it as done. Call it until it returns kNothing.
  Due take_due(const PlanTime& now);

  /// How long nothing becomes due by the clock, 0 or more. No value if nothing waits for a clock.
  std::optional<std::int64_t> wait_ns(const PlanTime& now) const;

  /// The start that is still to come.
  const std::optional<PlannedStart>& start() const { return start_; }
  /// 0: no stop is ordered.
  std::int64_t stop_at_realtime_ns() const { return stop_at_realtime_ns_; }
  /// Until the window that is open ends, 0 or more. No value: it has no such bound.
  std::optional<std::int64_t> left_ns(const PlanTime& now) const;
  std::optional<std::uint64_t> left_operations(const PlanTime& now) const;
  /// The events of the start that take_due has just given.
  const std::optional<config::EventChoice>& taken_events() const { return taken_events_; }

 private:
  std::optional<PlannedStart> start_;
  std::optional<config::EventChoice> taken_events_;
  std::int64_t stop_at_realtime_ns_ = 0;
  std::int64_t end_monotonic_ns_ = 0;  ///< 0: no bound
  std::uint64_t end_operations_ = 0;   ///< 0: no bound
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_WINDOW_PLAN_H
