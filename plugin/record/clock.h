// SPDX-License-Identifier: Apache-2.0
//
// The clock of the hot path: raw ticks. They are turned into nanoseconds off the hot path, with the
// help of pairs of ticks and CLOCK_MONOTONIC (assemble/clocks/clock_model.h).
#ifndef RINGSIDE_PLUGIN_RECORD_CLOCK_H
#define RINGSIDE_PLUGIN_RECORD_CLOCK_H

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ringside::record {

enum class ClockSource : std::uint8_t { kClockGettime, kTsc, kCntvct };

/// Returns the best clock of this machine: the TSC if the processor reports it as invariant and the
/// kernel still uses it, the counter of aarch64, else clock_gettime. Reads files, so it is not for
/// the hot path.
ClockSource find_clock_source() noexcept;

/// The clock that is read from a register, without a call.
#if defined(__x86_64__)
inline constexpr ClockSource kRegisterClock = ClockSource::kTsc;
#else
inline constexpr ClockSource kRegisterClock = ClockSource::kCntvct;
#endif

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t monotonic_ns() noexcept {
  return clock_ns(CLOCK_MONOTONIC);
}

/// Reads the source's ticks. This is plain rdtsc without a fence: a fence is expensive, and a
/// record's time need only be ordered against other records of the thread, not against the
/// instructions around it.
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

struct ClockReading {
  std::uint64_t ticks;
  std::uint64_t monotonic_ns;
  std::uint64_t realtime_ns;
  std::uint64_t uncertainty_ns;  ///< half the time that the reading took
};

/// Reads ticks, CLOCK_MONOTONIC and CLOCK_REALTIME together. It tries several times and returns the
/// quickest reading.
ClockReading read_clocks(ClockSource source) noexcept;

/// The error of CLOCK_REALTIME, as the kernel knows it: it only repeats what a daemon told it last.
struct RealtimeError {
  bool is_known = false;  ///< false: the kernel is not asked, or does not answer
  bool is_synchronised = false;
  std::uint64_t estimated_ns = 0;  ///< 0: not known
  std::uint64_t most_ns = 0;       ///< 0: not known
};

/// Asks the kernel (adjtimex, which changes nothing here). Nothing is known in a process with a
/// filter of system calls (seccomp), which might end the process for this. The call takes a lock of
/// the kernel, and reads a file, so it is not for the hot path.
RealtimeError read_realtime_error() noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_CLOCK_H
