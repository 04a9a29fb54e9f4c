// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it has CLOCK_MONOTONIC go STEP_MS milliseconds ahead once,
// STEP_AFTER_MS milliseconds after it was loaded: for whoever reads the processor's counter as
// well, this has stepped back.
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr long kMilli_ns = 1'000'000;
constexpr long kSecond_ns = 1'000'000'000;

long milliseconds(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atol(text) : 0;
}

void add_ns(timespec& time, long nanoseconds) {
  const long sum_ns = time.tv_nsec + nanoseconds % kSecond_ns;
  time.tv_sec += nanoseconds / kSecond_ns + (sum_ns >= kSecond_ns ? 1 : sum_ns < 0 ? -1 : 0);
  time.tv_nsec = (sum_ns + kSecond_ns) % kSecond_ns;
}

timespec system_time(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return now;
}

const timespec loaded = system_time(CLOCK_MONOTONIC);

long ahead_ns() {
  static const long after_ms = milliseconds("STEP_AFTER_MS");
  static const long step_ms = milliseconds("STEP_MS");
  const timespec now = system_time(CLOCK_MONOTONIC);
  const long since_ms =
      (now.tv_sec - loaded.tv_sec) * 1000 + (now.tv_nsec - loaded.tv_nsec) / kMilli_ns;
  return since_ms >= after_ms ? step_ms * kMilli_ns : 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  *now = system_time(clock);
  if (clock == CLOCK_MONOTONIC) {
    add_ns(*now, ahead_ns());
  }
  return 0;
}

// The kernel waits by its own clock.
__attribute__((visibility("default"))) int pthread_cond_clockwait(pthread_cond_t* condition,
                                                                  pthread_mutex_t* mutex,
                                                                  clockid_t clock,
                                                                  const timespec* until) {
  timespec on_clock{};
  clock_gettime(clock, &on_clock);
  timespec real = system_time(CLOCK_REALTIME);
  add_ns(real, (until->tv_sec - on_clock.tv_sec) * kSecond_ns + until->tv_nsec - on_clock.tv_nsec);
  return pthread_cond_timedwait(condition, mutex, &real);
}
}
