// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it has CLOCK_MONOTONIC go STEP_MS milliseconds ahead once,
// STEP_AFTER_MS milliseconds after it was loaded: for whoever reads the processor's counter as
// well, this has stepped back. CLOCK_REALTIME, the wall clock, goes back by WALL_STEP_MS then.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
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

// How far a clock is ahead of the kernel's, or will be in so many nanoseconds.
long ahead_ns(clockid_t clock, long later_ns = 0) {
  static const long after_ms = milliseconds("STEP_AFTER_MS");
  static const long monotonic_ms = milliseconds("STEP_MS");
  static const long wall_ms = -milliseconds("WALL_STEP_MS");
  const long step_ms = clock == CLOCK_MONOTONIC  ? monotonic_ms
                       : clock == CLOCK_REALTIME ? wall_ms
                                                 : 0;
  const timespec now = system_time(CLOCK_MONOTONIC);
  const long since_ms =
      (now.tv_sec - loaded.tv_sec) * 1000 + (now.tv_nsec - loaded.tv_nsec) / kMilli_ns;
  return since_ms + later_ns / kMilli_ns >= after_ms ? step_ms * kMilli_ns : 0;
}

std::array<std::atomic<pthread_cond_t*>, 1024> monotonic;
std::atomic<std::size_t> monotonic_count{0};

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  *now = system_time(clock);
  add_ns(*now, ahead_ns(clock));
  return 0;
}

// Remembers which conditions wait by CLOCK_MONOTONIC.
__attribute__((visibility("default"))) int pthread_cond_init(
    pthread_cond_t* condition, const pthread_condattr_t* attributes) noexcept {
  clockid_t clock = CLOCK_REALTIME;
  if (attributes != nullptr) {
    pthread_condattr_getclock(attributes, &clock);
  }
  if (clock == CLOCK_MONOTONIC) {
    const std::size_t number = monotonic_count.fetch_add(1);
    if (number >= monotonic.size()) {
      abort();
    }
    monotonic[number] = condition;
  }
  return next<decltype(&pthread_cond_init)>("pthread_cond_init")(condition, attributes);
}

// The kernel waits by its own clocks. The wall clock may be set back during the wait.
__attribute__((visibility("default"))) int pthread_cond_timedwait(pthread_cond_t* condition,
                                                                  pthread_mutex_t* mutex,
                                                                  const timespec* until) {
  const auto end = monotonic.begin() + std::min(monotonic_count.load(), monotonic.size());
  timespec kernels = *until;
  if (std::find(monotonic.begin(), end, condition) != end) {
    add_ns(kernels, -ahead_ns(CLOCK_MONOTONIC));
  } else {
    const timespec now = system_time(CLOCK_REALTIME);
    const long wait_ns = (until->tv_sec - now.tv_sec) * kSecond_ns + until->tv_nsec - now.tv_nsec;
    add_ns(kernels, -ahead_ns(CLOCK_REALTIME, std::max(wait_ns, 0L)));
  }
  return next<decltype(&pthread_cond_timedwait)>("pthread_cond_timedwait")(condition, mutex,
                                                                           &kernels);
}

__attribute__((visibility("default"))) int pthread_cond_clockwait(pthread_cond_t* condition,
                                                                  pthread_mutex_t* mutex,
                                                                  clockid_t clock,
                                                                  const timespec* until) {
  timespec on_clock{};
  clock_gettime(clock, &on_clock);
  timespec real = system_time(CLOCK_REALTIME);
  add_ns(real, (until->tv_sec - on_clock.tv_sec) * kSecond_ns + until->tv_nsec - on_clock.tv_nsec);
  return next<decltype(&pthread_cond_timedwait)>("pthread_cond_timedwait")(condition, mutex, &real);
}
}
