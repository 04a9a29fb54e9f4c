// SPDX-License-Identifier: Apache-2.0
//
// The drain thread: every few milliseconds, or when asked, from notes and rings to the trace.
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "plugin/config/thread_place.h"
#include "plugin/record/recorder.h"
#include "plugin/session/session.h"
#include "plugin/threads/background_thread.h"

namespace ringside::control {
namespace {

// While recording is stopped and nothing comes any more the thread looks this often.
constexpr auto kIdleWait = std::chrono::milliseconds(100);
constexpr int kIdleAfterCycles = 20;
// Of what memory was too short for the first time the second may have less to do.
constexpr int kAttemptsToClose = 2;

}  // namespace

// Under the mutex.
bool Session::ensure_thread() {
  if (thread_running_ || thread_ended_) {
    return thread_running_;
  }
  thread_running_ = start_background_thread("ringside", 0, &Session::thread_main, this);
  return thread_running_;
}

void* Session::thread_main(void* session) noexcept {
  static_cast<Session*>(session)->drain_loop();
  return nullptr;
}

void Session::place_thread() {
  const auto warn = [&](const char* name, const std::string& value, int error) {
    log_.warn(std::string(name) + "=" + value + " is refused (" + std::strerror(error) +
              "): the drain thread runs where and as the system lets it");
  };
  if (const auto cpus = parse_cpu_list(config_.drain_cpus)) {
    if (const int error = run_on_cpus(*cpus); error != 0) {
      warn("RINGSIDE_DRAIN_CPU", config_.drain_cpus, error);
    }
  }
  if (config_.drain_nice != 0) {
    if (const int error = run_at_nice(config_.drain_nice); error != 0) {
      warn("RINGSIDE_DRAIN_NICE", std::to_string(config_.drain_nice), error);
    }
  }
}

// Under the mutex.
std::chrono::milliseconds Session::drain_wait(int idle_cycles) const {
  // Rings that are smaller than was asked for are looked at more often.
  constexpr int kLeast_ms = 2;
  int period_ms = config_.drain_ms;
  if (ring_directory_.journal() != nullptr) {
    const std::uint64_t times = config_.ring_bytes / ring_directory_.share().ring_bytes;
    if (times > 1) {
      period_ms = std::min(period_ms, std::max(kLeast_ms, period_ms / static_cast<int>(times)));
    }
  }
  const auto period = std::chrono::milliseconds(period_ms);
  if (writer_.rings_fill_fast()) {
    return std::chrono::milliseconds(0);
  }
  const auto wait =
      recorded_ == 0 && idle_cycles >= kIdleAfterCycles ? std::max(kIdleWait, period) : period;
  const auto planned_ns = plan_.wait_ns(plan_time());
  return planned_ns ? std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(
                                         std::chrono::nanoseconds(*planned_ns)))
                    : wait;
}

// What is thrown ends this step and no more: what was at work is lost and counted. It is memory
// that is too short, so that nothing here may need any.
template <typename Step>
bool Session::survives(Step step) noexcept {
  try {
    step();
    return true;
  } catch (...) {
    writer_.note_memory_short();
    if (!memory_told_) {
      memory_told_ = true;
      log_.warn_plainly(
          "out of memory: events are lost and counted, and the trace may be incomplete; the "
          "application is not affected");
    }
    return false;
  }
}

void Session::drain_loop() noexcept {
  survives([&] { place_thread(); });
  survives([&] { begin_control(); });
  int idle_cycles = 0;
  bool wanted = true;
  while (wanted) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, drain_wait(idle_cycles), [&] {
        return !thread_wanted_ || !dumps_.empty() || !notes_.empty() || plan_new_;
      });
      wanted = thread_wanted_;
    }
    const bool survived = survives([&] { idle_cycles = cycle(!wanted) ? 0 : idle_cycles + 1; });
    if (!survived && wanted) {
      // What it was woken for may still be there.
      std::this_thread::sleep_for(std::chrono::milliseconds(config_.drain_ms));
    }
  }
  for (int attempt = 0; attempt < kAttemptsToClose && !writer_.is_closed(); ++attempt) {
    survives([&] { cycle(true); });
  }
  end_drain();
}

void Session::end_drain() noexcept {
  const std::lock_guard lock(mutex_);
  thread_running_ = false;
  thread_ended_ = true;
  answered_.notify_all();
}

bool Session::cycle(bool final) {
  std::size_t due_dumps = 0;
  {
    const std::lock_guard lock(mutex_);
    // A dump that is ordered later has to wait for the next reading of the rings: it holds all that
    // had returned when it was ordered.
    due_dumps = dumps_.size();
    if (!final) {
      look_at_masks();
    }
  }
  if (final) {
    writer_.expect_close();
  }
  ring_directory_.keep_lock();
  control_only_.keep_lock();
  // All records with older ticks are of communicators and windows whose notes are there by now.
  const std::uint64_t until_ticks = writer_.read_clocks();
  const bool had_notes = take_notes();
  const std::uint64_t taken = writer_.read_rings(until_ticks);
  if (!final) {
    carry_out_plan();
  }
  writer_.settle();
  write_dumps(due_dumps);
  if (final) {
    writer_.close();
  } else {
    look_for_hangs();
    follow_hang_dump();
  }
  if (const std::string notice = writer_.take_sampling_notice(); !notice.empty()) {
    log_.warn(notice);
  }
  if (const std::string notice = writer_.take_notice(); !notice.empty()) {
    log_.warn(notice);
  }
  if (writer_.trouble() && !trouble_told_) {
    trouble_told_ = true;
    log_.warn("cannot write " + writer_.path() + " (" + std::strerror(writer_.last_error()) +
              "): events are lost and counted, and writing is tried again; the application is not "
              "affected. Set RINGSIDE_DIR to a directory that can be written");
  }
  if (const record::RingPool& rings = record::g_recorder.rings();
      rings.without_file() != 0 && !rings_told_) {
    rings_told_ = true;
    log_.warn("no room for a ring in " + ring_directory_.path() + " (" +
              std::strerror(rings.without_file_error()) +
              "): events of some threads are lost if the process is killed");
  }
  tell_markers();
  tell_lost_marks();
  return taken != 0 || had_notes || due_dumps != 0;
}

void Session::write_dumps(std::size_t due) {
  for (; due != 0; --due) {
    std::shared_ptr<Dump> dump;
    {
      const std::lock_guard lock(mutex_);
      dump = std::move(dumps_.front());
      dumps_.pop_front();
    }
    write_dump(dump);
  }
}

// Only what is in flight is written here, into memory; the rest is the dump writer's.
void Session::write_dump(const std::shared_ptr<Dump>& dump) {
  if (!dump->is_wanted()) {
    return;
  }
  try {
    exporting::TraceSnapshot snapshot;
    if (writer_.make_snapshot(snapshot)) {
      dump_writer_.write(dump, std::move(snapshot));
    } else {
      dump->finish(errno);
    }
  } catch (...) {
    dump->finish(ENOMEM);
    throw;
  }
}

void Session::look_for_hangs() {
  if (!hang_watch_.is_due(writer_.now_ns())) {
    return;
  }
  hang_command_.reap();
  const std::vector<assemble::InFlight> stuck =
      hang_watch_.news(writer_.in_flight_for(hang_watch_.limit_ns()));
  if (stuck.empty()) {
    return;
  }
  // One at a time: a dump that is being written shows the stall, too.
  const bool wants_dump = hang_dumps_ < HangWatch::kMostDumps && hang_dump_ == nullptr;
  std::string path;
  if (wants_dump) {
    ++hang_dumps_;
    const std::lock_guard lock(mutex_);
    path = next_dump_path();
  }
  const HangFacts facts{config_.hang_seconds, writer_.now_ns(), writer_.dropped_by_rings(), path};
  for (const assemble::InFlight& operation : stuck) {
    log_.warn(hang_line(operation, writer_.find_communicator(operation.operation.context), facts));
  }
  if (!wants_dump) {
    return;
  }
  hang_dump_ = std::make_shared<Dump>(path);
  write_dump(hang_dump_);
}

// The command runs when the dump is there, or cannot be.
void Session::follow_hang_dump() {
  const std::optional<int> result = hang_dump_ != nullptr ? hang_dump_->result() : std::nullopt;
  if (!result) {
    return;
  }
  std::string path = std::exchange(hang_dump_, nullptr)->path();
  if (*result != 0) {
    log_.warn("cannot write " + path + " (" + std::strerror(*result) + ")");
    path.clear();
  }
  if (const int error = hang_command_.run(path); error != 0) {
    log_.warn(std::string("RINGSIDE_ON_HANG: /bin/sh cannot be started (") + std::strerror(error) +
              ")");
  }
}

void Session::shut_down() noexcept {
  survives([&] {
    const std::lock_guard lock(mutex_);
    look_at_masks();  // for the last time
  });
  record::g_recorder.set_gate(0);
  record::g_recorder.set_range_hooks(nullptr);  // the tool may be ending, too
  // A file system that hangs must not hang the exit of the application for ever.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  control_.end();
  {
    std::unique_lock lock(mutex_);
    thread_wanted_ = false;
    wake_.notify_one();
    answered_.notify_all();  // whoever asks: no more is answered
    if (!answered_.wait_until(lock, until, [&] { return !thread_running_; })) {
      return;
    }
  }
  if (writer_.is_closed()) {
    ring_directory_.remove(record::g_recorder.rings().count());
    control_only_.remove(0);
  }
  dump_writer_.wait_until_idle(until);
}

}  // namespace ringside::control
