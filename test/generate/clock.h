// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_GENERATE_CLOCK_H
#define RINGSIDE_TEST_GENERATE_CLOCK_H

#include <cmath>
#include <cstdint>

namespace ringside::generate {

/// True time at which the job begins, in nanoseconds since the base of the time line.
inline constexpr std::int64_t kJobStart_ns = 1'000'000'000'000;

/// What a host's clock shows: t + offset + drift * e + wander * sin(2 pi e / period), where e is
/// the true time t less kJobStart_ns.
struct HostClock {
  std::int64_t offset_ns = 0;
  std::int64_t drift_ppb = 0;
  std::int64_t wander_ns = 0;
  std::int64_t wander_period_ns = 1;

  std::int64_t at(std::int64_t true_ns) const {
    constexpr double kTwoPi = 6.283185307179586;
    const auto elapsed = static_cast<double>(true_ns - kJobStart_ns);
    const double slow =
        wander_ns == 0 ? 0.0
                       : static_cast<double>(wander_ns) *
                             std::sin(kTwoPi * elapsed / static_cast<double>(wander_period_ns));
    return true_ns + offset_ns +
           std::llround(elapsed * static_cast<double>(drift_ppb) * 1e-9 + slow);
  }
};

}  // namespace ringside::generate

#endif  // RINGSIDE_TEST_GENERATE_CLOCK_H
