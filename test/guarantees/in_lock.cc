// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it can have something happen to a thread just before that
// thread gives a mutex back.
#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace {

enum Event { kNothing, kSignal, kStandstill };
thread_local int next_event = kNothing;
std::atomic<bool> stands_still = false;

}  // namespace

extern "C" {

/// The calling thread gets SIGTERM at its next unlock.
__attribute__((visibility("default"))) void in_lock_raise() {
  next_event = kSignal;
}
/// The calling thread never returns from its next unlock.
__attribute__((visibility("default"))) void in_lock_stand_still() {
  next_event = kStandstill;
}
/// Whether a thread stands still with a mutex.
__attribute__((visibility("default"))) bool in_lock_stands_still() {
  return stands_still;
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
  const int event = next_event;
  next_event = kNothing;
  if (event == kSignal) {
    raise(SIGTERM);
  }
  while (event == kStandstill) {
    stands_still = true;
    pause();
  }
  return real(mutex);
}
}
