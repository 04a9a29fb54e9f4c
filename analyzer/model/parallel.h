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

/// Another number of threads than one a core; 0: none. Tests set it, while no work is done.
inline std::atomic<std::size_t> chosen_threads = 0;

/// Returns how many cores this process may use.
inline std::size_t core_count() {
  const std::size_t chosen = chosen_threads;
  return chosen > 0 ? chosen : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls work(i, own) once for each i below `count`, on so many threads at most (0: one a core), of
/// which this one is the first. If the system gives fewer, there are fewer. `own` is what make()
/// returns, once for each thread. All that the calls write is visible once this returns.
template <typename Make, typename Work>
void in_parallel(std::size_t count, unsigned threads, const Make& make, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    auto own = make();
    for (std::size_t i = next++; i < count; i = next++) {
      work(i, own);
    }
  };
  const std::size_t most = threads == 0 ? core_count() : threads;
  std::vector<std::thread> others;
  while (others.size() + 1 < std::min(most, count)) {
    try {
      others.emplace_back(take);
    } catch (const std::system_error&) {
      break;
    }
  }
  take();
  for (std::thread& other : others) {
    other.join();
  }
}

/// Calls work(thread, i) once for each i below `count`, on all cores. `thread` counts from 0 to
/// core_count() - 1: calls of one thread follow each other, so each thread can have memory of its
/// own. All that the calls write is visible once this returns.
template <typename Work>
void for_each_on_cores(std::size_t count, const Work& work) {
  std::atomic<std::size_t> threads = 0;
  in_parallel(
      count, 0, [&] { return threads++; },
      [&](std::size_t i, std::size_t thread) { work(thread, i); });
}

}  // namespace ringside

#endif  // RINGSIDE_ANALYZER_MODEL_PARALLEL_H
