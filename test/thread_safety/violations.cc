// SPDX-License-Identifier: Apache-2.0
//
// Clang must refuse these (-Wthread-safety). check_violations.sh compiles this file once without
// any violation, which must pass, and once with each, which must fail.
#include <cstdint>

#include "plugin/threads/mutex.h"

namespace {

using namespace ringside::threads;

class Counter {
 public:
  void add() RINGSIDE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    add_locked();
  }

#if defined(UNGUARDED_MEMBER)
  std::uint64_t count() {
    return count_;
  }
#endif
#if defined(UNLOCKED_CALL)
  void add_unlocked() {
    add_locked();
  }
#endif
#if defined(LOCKED_TWICE)
  void add_twice() {
    const MutexLock lock(mutex_);
    add();
  }
#endif

  void drain() RINGSIDE_REQUIRES(kDrainThread) {
    ++drained_;
  }
#if defined(OTHER_THREAD)
  void drain_from_any_thread() {
    drain();
  }
#endif
  void thread_main() {
    kDrainThread.assume();
    drain();
  }

 private:
  void add_locked() RINGSIDE_REQUIRES(mutex_) {
    ++count_;
  }

  Mutex mutex_;
  std::uint64_t count_ RINGSIDE_GUARDED_BY(mutex_) = 0;
  std::uint64_t drained_ RINGSIDE_GUARDED_BY(kDrainThread) = 0;
};

}  // namespace

int main() {
  Counter counter;
  counter.add();
  counter.thread_main();
  return 0;
}
