// SPDX-License-Identifier: Apache-2.0
//
// Work on all cores.
#ifndef RINGSIDE_ANALYZER_MODEL_PARALLEL_H
#define RINGSIDE_ANALYZER_MODEL_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace ringside {

/// Returns how many cores this process may use.
inline std::size_t core_count() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Calls work(i) for each i below `count`, each on a thread of its own, and work(0) on this one.
/// Where the system gives fewer threads, there are fewer calls. Returns once all have returned.
template <typename Work>
void run_on_threads(std::size_t count, const Work& work) {
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < count; ++i) {
    try {
      others.emplace_back([&work, i] { work(i); });
    } catch (const std::system_error&) {
      break;
    }
  }
  work(0);
  for (std::thread& other : others) {
    other.join();
  }
}

/// Calls work(thread, i) once for each i below `count`, on all cores. `thread` counts from 0 to
/// core_count() - 1: calls of one thread follow each other, so each thread can have memory of its
/// own. What they write is visible once this returns.
template <typename Work>
void for_each_on_cores(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  run_on_threads(std::min(core_count(), count), [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) {
      work(thread, i);
    }
  });
}

/// Calls work(i, own) once for each i below `count`, on so many threads at most (0: one a core);
/// `own` is what make() returns, once for each thread. What they write is visible once this
/// returns.
template <typename Make, typename Work>
void in_parallel(std::size_t count, unsigned threads, const Make& make, const Work& work) {
  std::atomic<std::size_t> next = 0;
  run_on_threads(std::min(threads == 0 ? core_count() : threads, count), [&](std::size_t) {
    auto own = make();
    for (std::size_t i = next++; i < count; i = next++) {
      work(i, own);
    }
  });
}

}  // namespace ringside

#endif  // RINGSIDE_ANALYZER_MODEL_PARALLEL_H
