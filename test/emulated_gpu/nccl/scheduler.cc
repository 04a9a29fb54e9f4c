// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace emugpu::nccl {
namespace {

// Waits ever longer while nothing moves: the threads that must make something move need the
// processor, of which tests often have few.
class Pause {
 public:
  void reset() {
    yields_ = 0;
    sleep_ = kShortestSleep;
  }

  void operator()() {
    if (yields_ < kYieldsBeforeSleeping) {
      ++yields_;
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ + sleep_ / 16 + kShortestSleep, kLongestSleep);
  }

 private:
  static constexpr int kYieldsBeforeSleeping = 20;
  static constexpr std::chrono::microseconds kShortestSleep{10};
  static constexpr std::chrono::microseconds kLongestSleep{1000};

  int yields_ = 0;
  std::chrono::microseconds sleep_ = kShortestSleep;
};

bool all_done(const std::vector<Task>& tasks) {
  return std::all_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.done(); });
}

}  // namespace

Task Scheduler::all(std::vector<Task> tasks) {
  for (Task& task : tasks) task.start();
  co_await until([&tasks] { return all_done(tasks); });
}

void Scheduler::run(std::vector<Task> tasks) {
  for (Task& task : tasks) task.start();
  Pause pause;
  while (!waiting_.empty()) {
    // First of all, since an abort may be followed by the loss of what the conditions look at.
    if (aborted()) {
      waiting_.clear();
    } else if (resume_ready_waiters()) {
      pause.reset();
    } else {
      pause();
    }
  }
}

bool Scheduler::resume_ready_waiters() {
  bool progress = false;
  // Resumed tasks may wait again: they join `waiting_`, to be polled in the next round.
  polled_.swap(waiting_);
  for (const Waiter& waiter : polled_) {
    if (waiter.ready(waiter.condition)) {
      progress = true;
      waiter.handle.resume();
    } else {
      waiting_.push_back(waiter);
    }
  }
  polled_.clear();
  return progress;
}

}  // namespace emugpu::nccl
