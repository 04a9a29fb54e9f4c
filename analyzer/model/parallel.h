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

/// Calls work() on so many threads, of which this one is the first. If the system gives fewer
/// threads, there are fewer calls. Returns once all have returned.
template <typename Work>
void run_on_threads(std::size_t count, const Work& work) {
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < count; ++i) {
    try {
      others.emplace_back([&work] { work(); });
    } catch (const std::system_error&) {
      break;
    }
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
}

/// Calls work(i, own) once for each i below `count`, on so many threads at most (0: one a core);
/// `own` is what make() returns, once for each thread. What they write is visible once this
/// returns.
template <typename Make, typename Work>
void in_parallel(std::size_t count, unsigned threads, const Make& make, const Work& work) {
  std::atomic<std::size_t> next = 0;
  run_on_threads(std::min(threads == 0 ? core_count() : threads, count), [&] {
    auto own = make();
    for (std::size_t i = next++; i < count; i = next++) {
      work(i, own);
    }
  });
}

}  // namespace ringside

#endif  // RINGSIDE_ANALYZER_MODEL_PARALLEL_H
