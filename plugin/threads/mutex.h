// SPDX-License-Identifier: Apache-2.0
//
// Mutexes and conditions of the plugin. Clang checks their use; the standard library's say nothing
// to clang. No thread of NCCL takes a mutex in a callback of the hot path.
//
// Waits follow CLOCK_MONOTONIC. The standard library's follow the wall clock where it is built for
// a glibc before 2.30, as in the packages: a wall clock that is set back would make them longer by
// as much.
#ifndef RINGSIDE_PLUGIN_THREADS_MUTEX_H
#define RINGSIDE_PLUGIN_THREADS_MUTEX_H

#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <thread>

#include "plugin/posix/undisturbed.h"

// Clang checks with -Wthread-safety which mutex guards a member, and which thread alone may call a
// function. Other compilers ignore these annotations.
#if defined(__clang__)
#define RINGSIDE_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define RINGSIDE_THREAD_ATTRIBUTE(attribute)
#endif

/// The class is a capability: a mutex, or a role of a thread.
#define RINGSIDE_CAPABILITY(kind) RINGSIDE_THREAD_ATTRIBUTE(capability(kind))
/// An object of the class holds a capability as long as it lives.
#define RINGSIDE_SCOPED_CAPABILITY RINGSIDE_THREAD_ATTRIBUTE(scoped_lockable)

/// The member may be used only by a thread that holds the capability.
#define RINGSIDE_GUARDED_BY(capability) RINGSIDE_THREAD_ATTRIBUTE(guarded_by(capability))
/// The function may be called only by a thread that holds the capability.
#define RINGSIDE_REQUIRES(...) RINGSIDE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The function takes the capability, so its caller must not hold it.
#define RINGSIDE_EXCLUDES(...) RINGSIDE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

#define RINGSIDE_ACQUIRE(...) RINGSIDE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RINGSIDE_RELEASE(...) RINGSIDE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
/// After the call, clang assumes that the capability is held.
#define RINGSIDE_ASSERT_CAPABILITY(...) RINGSIDE_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))

namespace ringside::threads {

/// Functions and members that only one thread may use. A role is no lock: it costs nothing at run
/// time. A thread takes its role where it begins, and clang checks that functions and members of
/// that role are used by functions of that role only.
class RINGSIDE_CAPABILITY("role") ThreadRole {
 public:
  /// The calling thread has this role. Called where the thread begins, or where a comment says why
  /// no thread has the role at that moment.
  void assume() const RINGSIDE_ASSERT_CAPABILITY(this) {}
};

/// The thread that reads the rings and writes the trace.
inline constexpr ThreadRole kDrainThread;

using Clock = std::chrono::steady_clock;

class RINGSIDE_CAPABILITY("mutex") Mutex {
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// What threads wait for, under a mutex.
class Condition {
 public:
  Condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void notify_one() noexcept { pthread_cond_signal(&condition_); }
  void notify_all() noexcept { pthread_cond_broadcast(&condition_); }

 private:
  friend class MutexLock;
  pthread_cond_t condition_;
};

/// Holds a mutex from its construction to its destruction. Signals to this thread come afterwards:
/// the handler of an application that calls exit() never interrupts a thread that holds the mutex,
/// so the exit does not wait for itself.
class RINGSIDE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RINGSIDE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  /// For the exit of the process: gives up at `deadline`, as the holder may be a thread that a
  /// debugger has stopped, or that was cancelled. Then is_held() is false, and the caller leaves
  /// alone what the mutex guards.
  MutexLock(Mutex& mutex, Clock::time_point deadline) RINGSIDE_ACQUIRE(mutex)
      : lock_(mutex.mutex_, std::try_to_lock) {
    while (!lock_.owns_lock() && Clock::now() < deadline) {
      signals_.release();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      signals_.hold();
      lock_.try_lock();
    }
  }
  ~MutexLock() RINGSIDE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  bool is_held() const noexcept { return lock_.owns_lock(); }

  /// Releases the mutex until `condition` is notified or `deadline` is over, or, now and then, for
  /// no reason: the caller asks in a loop whether what it waits for is there. Signals come
  /// meanwhile. False: the deadline is over.
  bool wait_until(Condition& condition, Clock::time_point deadline) noexcept {
    // On Linux, the steady clock is CLOCK_MONOTONIC.
    const auto since_boot = deadline.time_since_epoch();
    const auto whole_s = std::chrono::floor<std::chrono::seconds>(since_boot);
    const timespec until{static_cast<time_t>(whole_s.count()),
                         static_cast<long>(std::chrono::nanoseconds(since_boot - whole_s).count())};
    signals_.release();
    const int error =
        pthread_cond_timedwait(&condition.condition_, lock_.mutex()->native_handle(), &until);
    signals_.hold();
    return error != ETIMEDOUT;
  }

 private:
  posix::HeldSignals signals_;  // before the lock: they come when it is released
  std::unique_lock<std::mutex> lock_;
};

}  // namespace ringside::threads

#endif  // RINGSIDE_PLUGIN_THREADS_MUTEX_H
