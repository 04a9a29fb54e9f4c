// SPDX-License-Identifier: Apache-2.0
//
// Starts, stops and dumps the profiler from a thread of its own while collectives run.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ringside/ringside.h>
#include <stdexcept>
#include <string>
#include <thread>

#include "collectives.h"
#include "scenarios.h"

namespace ranks {
namespace {

constexpr int kRounds = 30;
constexpr std::size_t kCount = 3000;

class Control {
 public:
  explicit Control(Rank& rank) : rank_(rank), begin_(rank.collectives()) {
    if (ringside_open(&profiler_) != RINGSIDE_OK) {
      throw std::runtime_error("NCCL_PROFILER_PLUGIN does not name Ringside");
    }
    thread_ = std::thread([this] { run(); });
  }
  ~Control() {
    over_ = true;
    thread_.join();
  }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

 private:
  // Every collective is one call of a rank's begin_collective; the windows begin and end between
  // fixed numbers of them, so that all ranks' windows have most collectives in common.
  void run() {
    window(1, nullptr, 20, 50);
    const ringside_start_options only_operations{sizeof(ringside_start_options), "coll,p2p"};
    window(2, &only_operations, 70, 105);
  }

  void window(int number, const ringside_start_options* options, long from, long until) {
    wait_for(from);
    log("start", number, [&] { return profiler_.start(options); });
    const std::int64_t started = monotonic_ns();
    wait_for(until);
    const std::string file = rank_.options().directory + "/dump-" + std::to_string(number) + "-" +
                             std::to_string(rank_.index()) + ".json";
    log("dump", number, [&] { return profiler_.dump(file.c_str()); });
    const std::int64_t stopping = monotonic_ns();
    log("stop", number, [&] { return profiler_.stop(); });
    const std::string calls = rank_.log().calls_between(rank_.world(), started, stopping);
    std::printf("rank %d window %d: %s\n", rank_.index(), number, calls.c_str());
    std::fflush(stdout);
  }

  template <class Action>
  void log(const char* what, int window, Action action) {
    const std::int64_t begin = monotonic_ns();
    rank_.log().control(what, window, begin, action());
  }

  void wait_for(long collectives) const {
    while (!over_ && rank_.collectives() - begin_ < collectives) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  Rank& rank_;
  const long begin_;
  ringside_functions profiler_{};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

void run_windows(Rank& rank) {
  const Control control(rank);
  for (int i = 0; i < kRounds; ++i) {
    all_reduce(rank, rank.world(), kCount);
    all_gather(rank, rank.world(), kCount);
    reduce_scatter(rank, rank.world(), kCount);
    ring_shift(rank, rank.world(), kCount);
  }
}

}  // namespace ranks
