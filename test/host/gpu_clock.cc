// SPDX-License-Identifier: Apache-2.0
#include "test/host/gpu_clock.h"

#include <algorithm>
#include <chrono>

namespace ringside::host {
namespace {

std::int64_t realtime_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

GpuClock::GpuClock(const Recording& recording) {
  for (const Callback& callback : recording.callbacks) {
    if (callback.kind == Kind::kDlopen) {
      realtime_minus_monotonic_ns_ = callback.realtime_ns - callback.time_ns;
      break;
    }
  }
  callbacks_.reserve(recording.callbacks.size());
}

void GpuClock::advance(const Callback& callback) {
  callbacks_.push_back({callback.time_ns, realtime_ns()});
}

std::uint64_t GpuClock::replayed(std::uint64_t stamp) const {
  if (stamp == 0 || callbacks_.empty()) return stamp;
  const std::int64_t recorded = static_cast<std::int64_t>(stamp) - realtime_minus_monotonic_ns_;
  const auto next =
      std::upper_bound(callbacks_.begin(), callbacks_.end(), recorded,
                       [](std::int64_t time, const Pair& pair) { return time < pair.recorded_ns; });
  if (next == callbacks_.end()) return static_cast<std::uint64_t>(callbacks_.back().replayed_ns);
  if (next == callbacks_.begin()) return static_cast<std::uint64_t>(next->replayed_ns);
  const Pair& before = *(next - 1);
  const double part = static_cast<double>(recorded - before.recorded_ns) /
                      static_cast<double>(next->recorded_ns - before.recorded_ns);
  const auto gap_ns = static_cast<double>(next->replayed_ns - before.replayed_ns);
  return static_cast<std::uint64_t>(before.replayed_ns + static_cast<std::int64_t>(part * gap_ns));
}

}  // namespace ringside::host
