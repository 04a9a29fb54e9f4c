// SPDX-License-Identifier: Apache-2.0
//
// A coroutine that another one can await. The emulated kernels are written as such coroutines: one
// thread then runs all the blocks of a kernel, switching whenever one has to wait for a peer.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace emugpu::nccl {

class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> continuation = std::noop_coroutine();

    struct ResumeContinuation {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> finished) const noexcept {
        return finished.promise().continuation;
      }
      void await_resume() const noexcept {}
    };

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    ResumeContinuation final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;

  // Destroying an unfinished task unwinds it, and whatever it awaits: that is how a kernel aborts.
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs up to the first wait. Only for a task that nobody awaits.
  void start() { handle_.resume(); }
  bool done() const { return handle_.done(); }

  struct Awaiter {
    std::coroutine_handle<promise_type> task;

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) const noexcept {
      task.promise().continuation = caller;
      return task;
    }
    void await_resume() const noexcept {}
  };
  Awaiter operator co_await() const noexcept { return Awaiter{handle_}; }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace emugpu::nccl
