// SPDX-License-Identifier: Apache-2.0
#include "plugin/process/profiler.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "plugin/record/recorder.h"
#include "plugin/session/fork_order.h"

namespace ringside::control {
namespace {

std::atomic<Profiler*> g_profiler{nullptr};
// Held while a profiler is made. A child of a fork has one of its own: its parent's may be locked.
constinit std::mutex g_first_making;
std::atomic<std::mutex*> g_making{&g_first_making};
// The child of a fork leaves its parent's profiler and mutex alone, as their locks may be held for
// ever. They are kept here so that a leak checker of the application has nothing to report.
struct LeftAlone {
  Profiler* profiler;
  std::mutex* making;
  LeftAlone* before;
};
std::atomic<LeftAlone*> g_left_alone{nullptr};

// A file system that hangs must not hang the exit of the application for ever. Sanitizers make
// writing ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::chrono::seconds kPatienceAtExit{30};
#else
constexpr std::chrono::seconds kPatienceAtExit{5};
#endif

// The recorder is wiped in every child, by the kernel or by the handler of a fork.
bool begins_anew_in_child() {
  if (g_is_used.load(std::memory_order_acquire)) {
    return false;
  }
  if (record::g_recorder.is_first_to_prepare()) {
    g_left_alone.store(new (std::nothrow) LeftAlone{g_profiler.load(std::memory_order_relaxed),
                                                    g_making.load(std::memory_order_relaxed),
                                                    g_left_alone.load(std::memory_order_relaxed)},
                       std::memory_order_relaxed);
    if (auto* const making = new (std::nothrow) std::mutex; making != nullptr) {
      g_making.store(making, std::memory_order_relaxed);
    }
    g_profiler.store(nullptr, std::memory_order_relaxed);
    record::g_recorder.prepare();
  }
  return true;
}

}  // namespace

Profiler* Profiler::get() noexcept {
  if (record::g_recorder.is_wiped() && !begins_anew_in_child()) {
    return nullptr;
  }
  Profiler* profiler = existing();
  if (profiler != nullptr) {
    return profiler;
  }
  try {
    {
      const std::lock_guard lock(*g_making.load(std::memory_order_relaxed));
      if (profiler = existing(); profiler != nullptr) {
        return profiler;
      }
      profiler = new Profiler(read_environment());
      g_profiler.store(profiler, std::memory_order_release);
    }
    for (const std::string& warning : profiler->config_.warnings) {
      profiler->log_.warn(warning);
    }
    return profiler;
  } catch (...) {
    return nullptr;
  }
}

Profiler* Profiler::existing() noexcept {
  return record::g_recorder.is_wiped() ? nullptr : g_profiler.load(std::memory_order_acquire);
}

void Profiler::close_in_child() noexcept {
  if (Profiler* const profiler = g_profiler.load(std::memory_order_acquire); profiler != nullptr) {
    profiler->control_.close_in_child();
  }
}

void Profiler::tell_in_child() {
  static std::atomic<bool> told{false};
  if (record::g_recorder.is_wiped() && !told.exchange(true)) {
    Log(read_environment().log)
        .warn(
            "nothing is recorded in this process: it was forked from one that had opened a "
            "communicator before, or written a dump. Fork before that, or start processes by other "
            "means (spawn)");
  }
}

Profiler::Profiler(Config config)
    : config_(std::move(config)),
      log_(config_.log),
      writer_(config_),
      session_(config_, log_, writer_, [this] { return drain_thread_.start(); }),
      control_(session_),
      drain_thread_(config_, log_, writer_, session_, control_) {}

void Profiler::shut_down() noexcept {
  session_.end_recording();
  const auto until = std::chrono::steady_clock::now() + kPatienceAtExit;
  control_.end();
  if (!session_.end_thread(until)) {
    return;
  }
  if (writer_.is_closed()) {
    session_.directories().remove(record::g_recorder.rings().count());
  }
  drain_thread_.wait_for_dumps(until);
}

}  // namespace ringside::control
