// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_CLOCK_H
#define RINGSIDE_SIMULATE_CLOCK_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ringside::simulate {

/// True time at which the job begins, in nanoseconds since the base of the time line.
inline constexpr std::int64_t kJobStart_ns = 1'000'000'000'000;

/// A step of CLOCK_MONOTONIC. It never goes back: to lose time it stands still, as while a virtual
/// machine is paused, and so does all on the host.
struct ClockStep {
  std::int64_t at_ns = 0;    // true time
  std::int64_t size_ns = 0;  // negative: so long it stood
  bool is_reported = true;   // the processor's counter counted on

  std::int64_t over_ns() const { return at_ns + std::max<std::int64_t>(-size_ns, 0); }
};

/// A host's clock shows t + offset + drift * e + wander * sin(2 pi e / period), and its steps ahead
/// until then. Here t is the true time less the time for which the clock stood, and e is t less
/// kJobStart_ns.
struct HostClock {
  std::int64_t offset_ns = 0;
  std::int64_t drift_ppb = 0;
  std::int64_t wander_ns = 0;
  std::int64_t wander_period_ns = 1;
  std::vector<ClockStep> steps;

  std::int64_t at(std::int64_t true_ns) const {
    constexpr double kTwoPi = 6.283185307179586;
    std::int64_t went_ns = true_ns;
    std::int64_t ahead_ns = offset_ns;
    for (const ClockStep& step : steps) {
      const std::int64_t passed_ns = std::max<std::int64_t>(true_ns - step.at_ns, 0);
      went_ns -= std::min(std::max<std::int64_t>(-step.size_ns, 0), passed_ns);
      ahead_ns += passed_ns == 0 ? 0 : std::max<std::int64_t>(step.size_ns, 0);
    }
    const auto elapsed = static_cast<double>(went_ns - kJobStart_ns);
    const double slow =
        wander_ns == 0 ? 0.0
                       : static_cast<double>(wander_ns) *
                             std::sin(kTwoPi * elapsed / static_cast<double>(wander_period_ns));
    return went_ns + ahead_ns +
           std::llround(elapsed * static_cast<double>(drift_ppb) * 1e-9 + slow);
  }
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_CLOCK_H
