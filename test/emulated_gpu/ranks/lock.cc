// SPDX-License-Identifier: Apache-2.0
//
// A library of an application, with a lock: what a rank waits for that no profiler of NCCL sees.
#include <chrono>
#include <mutex>
#include <thread>

namespace {

std::mutex batches;

// Returns when it has the lock, which it keeps for so long.
void hold(std::chrono::milliseconds time) {
  std::mutex begun;
  begun.lock();
  std::thread([&begun, time] {
    const std::lock_guard lock(batches);
    begun.unlock();
    std::this_thread::sleep_for(time);
  }).detach();
  begun.lock();
}

}  // namespace

extern "C" {

/// Waits for a lock that another thread keeps for so long; negative: for ever.
__attribute__((visibility("default"), noinline)) void take_batch(int milliseconds) {
  constexpr std::chrono::hours kForEver(1000);
  hold(milliseconds < 0 ? kForEver : std::chrono::milliseconds(milliseconds));
  const std::lock_guard lock(batches);
}
}
