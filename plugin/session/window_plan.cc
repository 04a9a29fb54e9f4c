// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/window_plan.h"

#include <algorithm>
#include <limits>

namespace ringside::session {
namespace {

std::optional<std::int64_t> sooner(std::optional<std::int64_t> a, std::int64_t b) {
  return a ? std::min(*a, b) : b;
}

// No overflow: moments of years, and uptimes, are far from what an integer holds at most.
std::int64_t until(std::int64_t moment_ns, std::int64_t now_ns) {
  return moment_ns <= now_ns ? 0 : moment_ns - now_ns;
}

}  // namespace

void WindowPlan::order_start(const PlannedStart& start) {
  clear();
  start_ = start;
}

WindowPlan::Due WindowPlan::take_due(const PlanTime& now) {
  // If the thread is late for both, they are due in the order of their moments.
  const bool stops = stop_at_realtime_ns_ != 0 && stop_at_realtime_ns_ <= now.realtime_ns;
  const bool starts = start_ && start_->at_realtime_ns <= now.realtime_ns;
  if (starts && !(stops && stop_at_realtime_ns_ < start_->at_realtime_ns)) {
    forget_window();
    if (start_->duration_ns != 0) {
      end_monotonic_ns_ = now.monotonic_ns + start_->duration_ns;
    }
    if (start_->operations != 0) {
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
      end_operations_ = now.operations + std::min(start_->operations, kMost - now.operations);
    }
    taken_events_ = start_->events;
    start_.reset();
    return Due::kStart;
  }
  if (stops) {
    stop_at_realtime_ns_ = 0;
    forget_window();
    return Due::kStop;
  }
  if ((end_monotonic_ns_ != 0 && end_monotonic_ns_ <= now.monotonic_ns) ||
      (end_operations_ != 0 && end_operations_ <= now.operations)) {
    forget_window();
    return Due::kStop;
  }
  return Due::kNothing;
}

std::optional<std::int64_t> WindowPlan::wait_ns(const PlanTime& now) const {
  std::optional<std::int64_t> wait = left_ns(now);
  if (start_) {
    wait = sooner(wait, until(start_->at_realtime_ns, now.realtime_ns));
  }
  if (stop_at_realtime_ns_ != 0) {
    wait = sooner(wait, until(stop_at_realtime_ns_, now.realtime_ns));
  }
  return wait;
}

std::optional<std::int64_t> WindowPlan::left_ns(const PlanTime& now) const {
  return end_monotonic_ns_ == 0 ? std::nullopt
                                : std::optional(until(end_monotonic_ns_, now.monotonic_ns));
}

std::optional<std::uint64_t> WindowPlan::left_operations(const PlanTime& now) const {
  if (end_operations_ == 0) {
    return std::nullopt;
  }
  return end_operations_ <= now.operations ? 0 : end_operations_ - now.operations;
}

}  // namespace ringside::session
