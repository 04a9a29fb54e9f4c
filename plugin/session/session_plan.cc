// SPDX-License-Identifier: Apache-2.0
//
// What is ordered for later, carried out by the drain thread.
#include <ctime>

#include "plugin/record/clock.h"
#include "plugin/session/session.h"

namespace ringside::control {

// Under the mutex.
PlanTime Session::plan_time() const {
  constexpr std::int64_t kOneSecond_ns = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {static_cast<std::int64_t>(now.tv_sec) * kOneSecond_ns + now.tv_nsec,
          static_cast<std::int64_t>(record::monotonic_ns()), operations_begun_};
}

// Under the mutex.
void Session::end_window() {
  started_ = false;
  nccl_.recorded_from_start = nccl_.recorded_from_start && nccl_.abi_version == 0;
  apply_gate(Masks::kWritten);
}

// Under the mutex. From the first communicator on, not from the load: what happens before is
// nothing to record.
void Session::order_first_window() {
  if (config_.record_seconds > 0 && config_.start && started_ && windows_ == 0) {
    plan_.order_start({0, 0, static_cast<std::int64_t>(config_.record_seconds * 1e9), {}});
    plan_new_ = true;
  }
}

// After the rings are read, so that a window's operations are not those of the window before.
void Session::carry_out_plan() {
  const std::uint64_t begun = writer_.begun();
  const std::lock_guard lock(mutex_);
  operations_begun_ = begun;
  plan_new_ = false;
  while (true) {
    switch (plan_.take_due(plan_time())) {
      case WindowPlan::Due::kStart:
        start_with(plan_.taken_events().value_or(started_ ? choice_ : config_.events));
        break;
      case WindowPlan::Due::kStop:
        end_window();
        break;
      default:
        return;
    }
  }
}

}  // namespace ringside::control
