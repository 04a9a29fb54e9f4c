// SPDX-License-Identifier: Apache-2.0
//
// The process's profiler; load, fork and exit; and the cold calls of NCCL's interface. The library
// is linked so that it is never unloaded (-z nodelete): NCCL lets it go after the last communicator
// and may load it again.
#include "plugin/process/profiler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string>
#include <utility>

#include "plugin/posix/undisturbed.h"
#include "plugin/record/host_side.h"
#include "plugin/record/recorder.h"
#include "plugin/session/recording.h"

namespace ringside::process {
namespace {

using threads::Clock;

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

// The exit waits so long for a drain thread that neither takes records nor writes: the file system
// may hang. Sanitizers make writing ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::chrono::seconds kPatience{30};
#else
constexpr std::chrono::seconds kPatience{5};
#endif
constexpr std::chrono::seconds kPatienceWithClients{1};
constexpr std::chrono::milliseconds kLookEvery{100};

// The recorder is wiped in every child, by the kernel or by the handler of a fork.
bool begins_anew_in_child() {
  if (session::g_is_used.load(std::memory_order_acquire)) {
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
      profiler = new Profiler(config::read_environment());
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

// The parent's other threads may have held the allocator's locks, and nobody gives them back.
void Profiler::tell_in_child() noexcept {
  static std::atomic<bool> told{false};
  if (record::g_recorder.is_wiped() && !told.exchange(true)) {
    const char* const target = std::getenv("RINGSIDE_LOG");
    posix::Log(target != nullptr && *target != '\0' ? target : "stderr")
        .warn(
            "nothing is recorded in this process: it was forked from one that had opened a "
            "communicator before, or written a dump. Fork before that, or start processes by other "
            "means (spawn)");
  }
}

Profiler::Profiler(config::Config config)
    : config_(std::move(config)),
      log_(config_.log.c_str()),
      writer_(config_),
      session_(config_, log_, writer_, [this] { return drain_thread_.start(); }),
      drain_thread_(config_, log_, writer_, session_, control_) {}

void Profiler::shut_down() noexcept {
  session_.end_recording();
  const Clock::time_point now = Clock::now();
  const Clock::time_point last = now + std::chrono::seconds(config_.exit_seconds);
  control_.end(std::min(last, now + kPatienceWithClients));
  if (!end_drain_thread(last)) {
    return;
  }
  if (writer_.is_closed()) {
    session_.directory().remove(record::g_recorder.rings());
  }
  if (!drain_thread_.wait_for_dumps(std::min(last, Clock::now() + kPatience))) {
    log_.warn("the process ends while a dump is being written: there is only a file .part of it");
  }
}

bool Profiler::end_drain_thread(Clock::time_point last) noexcept {
  std::uint64_t progress = writer_.progress();
  Clock::time_point until = std::min(last, Clock::now() + kPatience);
  while (!session_.end_thread(std::min(until, Clock::now() + kLookEvery))) {
    const std::uint64_t before = std::exchange(progress, writer_.progress());
    if (progress != before) {
      until = std::min(last, Clock::now() + kPatience);
    }
    if (Clock::now() >= until) {
      say_what_is_left(until < last);
      return false;
    }
  }
  return true;
}

void Profiler::say_what_is_left(bool stands_still) noexcept {
  const session::RingDirectory& rings = session_.directory();
  const bool can_recover = rings.journal() != nullptr;
  std::array<char, 1024> line;
  std::snprintf(line.data(), line.size(),
                "the process ends before its trace is complete, as %s: %llu callbacks are not in "
                "it yet%s%s",
                stands_still ? "writing it has stood still for some seconds"
                             : "RINGSIDE_EXIT_SECONDS are over",
                static_cast<unsigned long long>(writer_.callbacks_left()),
                can_recover ? "; for those in files: ringside recover "
                            : ", and they are lost, since the rings are in memory",
                can_recover ? rings.path().c_str() : "");
  log_.warn(line.data());
}

namespace {

// The child has none of our threads. It neither records, writes nor deletes anything that its
// parent has begun. Profiler::get says when it begins anew.
void in_child() {
  const posix::Uncancelled uncancelled;
  record::g_recorder.close_in_child();
  record::g_recorder.wipe();
  Profiler::close_in_child();
}

__attribute__((constructor)) void on_load() {
  const posix::Uncancelled uncancelled;
  record::g_recorder.prepare();
  record::g_recorder.wipe_on_fork();
  pthread_atfork(nullptr, nullptr, in_child);
}

__attribute__((destructor)) void on_exit() {
  const posix::Uncancelled uncancelled;
  if (Profiler* const profiler = Profiler::existing(); profiler != nullptr) {
    profiler->shut_down();
  }
}

}  // namespace
}  // namespace ringside::process

namespace ringside::record {

void* open_communicator(const CommunicatorInit& init) noexcept {
  const posix::Uncancelled uncancelled;
  try {
    if (auto* const profiler = process::Profiler::get(); profiler != nullptr) {
      return profiler->session().open_communicator(init);
    }
    process::Profiler::tell_in_child();
  } catch (...) {
    // NCCL must not see any error: a failing init makes it crash or unload the plugin.
  }
  return g_recorder.context_handle(g_recorder.new_context());
}

void close_communicator(void* context) noexcept {
  const posix::Uncancelled uncancelled;
  try {
    if (auto* const profiler = process::Profiler::existing(); profiler != nullptr) {
      profiler->session().close_communicator(context);
    }
  } catch (...) {
    // Nothing depends on finalize.
  }
}

}  // namespace ringside::record
