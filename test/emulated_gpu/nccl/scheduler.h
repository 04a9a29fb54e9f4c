// SPDX-License-Identifier: Apache-2.0
//
// Runs the tasks of one kernel on the calling thread. Tasks wait for words of memory that other
// threads and processes write, so waiting means polling, with a pause when nothing moves.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "task.h"

namespace emugpu::nccl {

class Scheduler {
 public:
  // Polling stops for good once *abort_flag is set.
  explicit Scheduler(const volatile std::uint32_t* abort_flag) : abort_flag_(abort_flag) {}

  // co_await until(condition) resumes when the condition holds.
  template <std::predicate Condition>
  auto until(Condition condition) {
    return Wait<Condition>{*this, std::move(condition)};
  }

  // co_await all(tasks) runs the tasks side by side.
  Task all(std::vector<Task> tasks);

  // Runs the tasks to their end; on abort, unwinds them where they are.
  void run(std::vector<Task> tasks);

 private:
  struct Waiter {
    bool (*ready)(void* condition);
    void* condition;
    std::coroutine_handle<> handle;
  };

  template <class Condition>
  struct Wait {
    Scheduler& scheduler;
    Condition condition;

    bool await_ready() { return condition(); }
    void await_suspend(std::coroutine_handle<> handle) {
      // The awaiter lives in the suspended coroutine, hence as long as the waiter is listed.
      const auto ready = [](void* self) { return (*static_cast<Condition*>(self))(); };
      scheduler.waiting_.push_back(Waiter{ready, &condition, handle});
    }
    void await_resume() const noexcept {}
  };

  bool resume_ready_waiters();
  bool aborted() const { return abort_flag_ != nullptr && *abort_flag_ != 0; }

  const volatile std::uint32_t* const abort_flag_;
  std::vector<Waiter> waiting_;
  std::vector<Waiter> polled_;
};

}  // namespace emugpu::nccl
