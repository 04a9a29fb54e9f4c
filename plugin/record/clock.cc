// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/clock.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <sys/timex.h>

#include "plugin/posix/descriptors.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ringside::record {
namespace {

#if defined(__x86_64__)
bool tsc_is_invariant() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kPowerManagementLeaf = 0x80000007U;
  if (__get_cpuid(kPowerManagementLeaf, &eax, &ebx, &ecx, &edx) == 0) {
    return false;
  }
  return (edx & (1U << 8)) != 0;
}

// True if the kernel found the TSC unstable: it then uses one of these clocks.
bool kernel_gave_tsc_up() noexcept {
  std::array<char, 32> text;
  std::string_view name =
      posix::read_begin("/sys/devices/system/clocksource/clocksource0/current_clocksource", text);
  name = name.substr(0, name.find('\n'));
  return name == "hpet" || name == "acpi_pm" || name == "jiffies" || name == "refined-jiffies";
}
#endif

// A filter of system calls may end the process at adjtimex, and whether it does cannot be asked.
bool has_call_filter() noexcept {
  std::array<char, 4096> text;
  const std::string_view status = posix::read_begin("/proc/thread-self/status", text);
  return status.find("\nSeccomp:\t0\n") == std::string_view::npos;
}

}  // namespace

ClockSource find_clock_source() noexcept {
#if defined(__x86_64__)
  if (tsc_is_invariant() && !kernel_gave_tsc_up()) {
    return ClockSource::kTsc;
  }
#elif defined(__aarch64__)
  return ClockSource::kCntvct;
#endif
  return ClockSource::kClockGettime;
}

ClockReading read_clocks(ClockSource source) noexcept {
  constexpr int kTries = 8;
  ClockReading best{};
  std::uint64_t best_span = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = monotonic_ns();
    const std::uint64_t ticks = read_ticks(source);
    const std::uint64_t realtime = clock_ns(CLOCK_REALTIME);
    const std::uint64_t after = monotonic_ns();
    const std::uint64_t span = after - before;
    if (span < best_span) {
      best_span = span;
      best = {ticks, before + span / 2, realtime, std::max<std::uint64_t>(span / 2, 1)};
    }
  }
  if (source == ClockSource::kClockGettime) {
    best.monotonic_ns = best.ticks;
  }
  return best;
}

RealtimeError read_realtime_error() noexcept {
  if (has_call_filter()) {
    return {};
  }
  timex state{};
  const int said = adjtimex(&state);
  if (said == -1) {
    return {};
  }
  const auto ns_of_us = [](long us) {
    return us > 0 ? static_cast<std::uint64_t>(us) * 1'000U : 0U;
  };
  return {true, said != TIME_ERROR && (state.status & STA_UNSYNC) == 0, ns_of_us(state.esterror),
          ns_of_us(state.maxerror)};
}

}  // namespace ringside::record
