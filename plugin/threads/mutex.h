// SPDX-License-Identifier: Apache-2.0
//
// A mutex whose use clang checks. The standard library's mutex says nothing to clang. No thread of
// NCCL takes one in a callback of the hot path.
#ifndef RINGSIDE_PLUGIN_THREADS_MUTEX_H
#define RINGSIDE_PLUGIN_THREADS_MUTEX_H

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "plugin/threads/annotations.h"

namespace ringside::threads {

class RINGSIDE_CAPABILITY("mutex") Mutex {
 public:
  void lock() RINGSIDE_ACQUIRE() { mutex_.lock(); }
  void unlock() RINGSIDE_RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex from its construction to its destruction.
class RINGSIDE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RINGSIDE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() RINGSIDE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  /// Releases the mutex until `condition` is notified or `deadline` is over, or, now and then, for
  /// no reason: the caller asks in a loop whether what it waits for is there. False: the deadline
  /// is over.
  bool wait_until(std::condition_variable& condition,
                  std::chrono::steady_clock::time_point deadline) {
    return condition.wait_until(lock_, deadline) == std::cv_status::no_timeout;
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace ringside::threads

#endif  // RINGSIDE_PLUGIN_THREADS_MUTEX_H
