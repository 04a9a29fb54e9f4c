// SPDX-License-Identifier: Apache-2.0
//
// The clock of the hot path: raw ticks. What they mean in nanoseconds is found off the hot path,
// from pairs of ticks and CLOCK_MONOTONIC (assemble/clock_model.h).
#ifndef RINGSIDE_PLUGIN_RECORD_CLOCK_H
#define RINGSIDE_PLUGIN_RECORD_CLOCK_H

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ringside::record {

enum class ClockSource : std::uint8_t { kClockGettime, kTsc, kCntvct };

/// The best clock of this machine: the TSC if the processor says that it is invariant and the
/// kernel has not given it up, the counter of aarch64, else clock_gettime. Reads files; never on
/// the hot path.
ClockSource find_clock_source() noexcept;

/// The clock that is read from a register, without a call.
#if defined(__x86_64__)
inline constexpr ClockSource kRegisterClock = ClockSource::kTsc;
#else
inline constexpr ClockSource kRegisterClock = ClockSource::kCntvct;
#endif

/// CLOCK_MONOTONIC in nanoseconds.
inline std::uint64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// Ticks of the source. Plain rdtsc: a fence would cost more than it tells, and a record's time
/// need not be ordered against the instructions around it, only against other records of the
/// thread.
inline std::uint64_t read_ticks(ClockSource source) noexcept {
#if defined(__x86_64__)
  if (source == ClockSource::kTsc) [[likely]] {
    return __rdtsc();
  }
#elif defined(__aarch64__)
  if (source == ClockSource::kCntvct) [[likely]] {
    std::uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#else
  (void)source;
#endif
  return monotonic_ns();
}

/// A reading of all clocks at one moment.
struct ClockReading {
  std::uint64_t ticks;
  std::uint64_t monotonic_ns;
  std::uint64_t realtime_ns;
  std::uint64_t uncertainty_ns;  ///< half the time that the reading took
};

/// Reads ticks, CLOCK_MONOTONIC and CLOCK_REALTIME together; of several tries the quickest.
ClockReading read_clocks(ClockSource source) noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_CLOCK_H
