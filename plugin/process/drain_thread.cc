// SPDX-License-Identifier: Apache-2.0
#include "plugin/process/drain_thread.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <thread>
#include <utility>

#include "plugin/config/config.h"
#include "plugin/doors/control_service.h"
#include "plugin/nvtx/markers.h"
#include "plugin/record/recorder.h"
#include "plugin/result/result.h"
#include "plugin/threads/background_thread.h"

namespace ringside::process {
namespace {

// The period while recording is stopped, after kIdleAfterCycles cycles without work.
constexpr auto kIdleWait = std::chrono::milliseconds(100);
constexpr int kIdleAfterCycles = 20;
// Memory may be too short to close the trace at first, and suffice at the second attempt.
constexpr int kAttemptsToClose = 2;

}  // namespace

DrainThread::DrainThread(const config::Config& config, posix::Log& log, drain::TraceWriter& writer,
                         session::Session& session, doors::ControlSocket& control)
    : config_(config),
      log_(log),
      writer_(writer),
      session_(session),
      control_(control),
      dump_writer_(writer.directory(), "." + std::to_string(writer.facts().run_id) + ".part"),
      hang_watch_(config, log, session),
      probe_(config.sysfs) {}

bool DrainThread::start() {
  return threads::start_background_thread("ringside", 0, thread_main, this);
}

void* DrainThread::thread_main(void* self) noexcept {
  threads::kDrainThread.assume();
  static_cast<DrainThread*>(self)->run();
  return nullptr;
}

// Runs a step. An exception ends that step alone: memory was too short, and the events at work are
// lost and counted. So the handler must not need memory.
template <typename Step>
bool DrainThread::survives(Step step) noexcept {
  try {
    step();
    return true;
  } catch (...) {
    writer_.note_memory_short();
    if (!told_[kMemory]) {
      told_.set(kMemory);
      log_.warn(
          "out of memory: events are lost and counted, and the trace may be incomplete; the "
          "application is not affected");
    }
    return false;
  }
}

void DrainThread::run() noexcept {
  survives([&]() RINGSIDE_REQUIRES(threads::kDrainThread) { move_to_place(); });
  survives([&]() RINGSIDE_REQUIRES(threads::kDrainThread) {
    doors::begin_control(control_, session_, config_, log_);
  });
  int idle_cycles = 0;
  bool is_wanted = true;
  while (is_wanted) {
    is_wanted = wait(idle_cycles);
    const bool survived = survives([&]() RINGSIDE_REQUIRES(threads::kDrainThread) {
      idle_cycles = cycle(!is_wanted) ? 0 : idle_cycles + 1;
    });
    if (!survived && is_wanted) {
      // The thread must not spin while the reason for waking it stays.
      std::this_thread::sleep_for(std::chrono::milliseconds(config_.drain_ms));
    }
  }
  for (int attempt = 0; attempt < kAttemptsToClose && !writer_.is_closed(); ++attempt) {
    survives([&]() RINGSIDE_REQUIRES(threads::kDrainThread) { cycle(true); });
  }
  session_.thread_ends();
  if (application_has_ended_) {
    std::exit(0);  // as the C library does when the last thread of a process ends
  }
}

void DrainThread::move_to_place() {
  const auto cpus = config::parse_cpu_list(config_.drain_cpus);
  const Result placed(cpus ? pthread_setaffinity_np(pthread_self(), sizeof *cpus, &*cpus) : 0);
  if (!placed.is_ok()) {
    log_.warn("RINGSIDE_DRAIN_CPU=" + config_.drain_cpus + " is refused (" + placed.text() +
              "): the drain thread runs where the system lets it");
  }
}

// Waits for work. Returns false if the thread must finish.
bool DrainThread::wait(int idle_cycles) {
  // Rings that are smaller than configured are read more often.
  constexpr int kLeast_ms = 2;
  int period_ms = config_.drain_ms;
  if (const session::RingDirectory& rings = session_.directory(); rings.journal() != nullptr) {
    const std::uint64_t times = config_.ring_bytes / rings.share().ring_bytes;
    if (times > 1) {
      period_ms = std::min(period_ms, std::max(kLeast_ms, period_ms / static_cast<int>(times)));
    }
  }
  const std::chrono::milliseconds period(writer_.rings_fill_fast() ? 0 : period_ms);
  const bool is_idle = idle_cycles >= kIdleAfterCycles && !writer_.rings_fill_fast();
  const bool is_wanted =
      session_.wait_for_work(period, is_idle ? std::max(kIdleWait, period) : period);
  constexpr std::chrono::seconds kLookEvery{1};
  if (const threads::Clock::time_point now = threads::Clock::now(); now >= next_look_) {
    next_look_ = now + kLookEvery;
    application_has_ended_ = threads::application_has_ended();
  }
  return is_wanted && !application_has_ended_;
}

// Does one pass. `final`: the process exits, and the trace ends. Returns false if nothing was done.
bool DrainThread::cycle(bool final) {
  const std::size_t due_dumps = session_.due_dumps();
  session_.look_at_masks();
  if (final) {
    session_.end_recording();  // that look may have opened the gate again
  }
  session_.directory().keep_lock();
  // All older records are of communicators and windows whose notes have come by now.
  const std::uint64_t until_ticks = writer_.read_clocks();
  const bool had_notes = apply_notes();
  const std::uint64_t taken = writer_.read_rings(until_ticks);
  if (!final) {
    // This follows the reading of the rings, so that a window does not get earlier operations.
    session_.carry_out_plan();
  }
  look_at_machine(final);
  writer_.settle();
  for (std::size_t dump = 0; dump < due_dumps; ++dump) {
    write(session_.take_dump());
  }
  if (final) {
    writer_.close();
  } else {
    if (const std::shared_ptr<drain::Dump> dump = hang_watch_.look(writer_); dump != nullptr) {
      write(dump);
    }
    hang_watch_.follow();
  }
  warn_of_trouble();
  return taken != 0 || had_notes || due_dumps != 0;
}

// Returns false if there was no note.
bool DrainThread::apply_notes() {
  const bool had_left = notes_.apply(writer_);
  const std::size_t windows = session_.take_notes(notes_.list());
  const bool had_new = notes_.apply(writer_);
  session_.notes_applied(windows);
  return had_left || had_new;
}

// Starts the probe with the first communicator, has it read the counters again when the last one is
// closed, and takes what it has read. Nothing here waits.
void DrainThread::look_at_machine(bool final) {
  if (!config_.topology || !writer_.has_begun() || writer_.is_closed()) {
    return;
  }
  if (!probe_is_started_) {
    probe_is_started_ = true;
    if (!final && !probe_.start()) {
      machine_is_known_ = true;
      writer_.apply({.state = topology::State::kFailed, .reason = "there can be no thread"});
    }
  }
  const bool all_are_closed = writer_.all_are_closed();
  if (all_are_closed && !all_were_closed_) {
    probe_.ask();
  }
  all_were_closed_ = all_are_closed;
  while (std::optional<topology::Machine> machine = probe_.take()) {
    machine_is_known_ = true;
    writer_.apply(std::move(*machine));
  }
  constexpr std::chrono::seconds kHangs{10};
  const std::optional<std::chrono::nanoseconds> reads_for = probe_.reads_for();
  if (!told_[kProbe] && reads_for && *reads_for > kHangs) {
    told_.set(kProbe);
    log_.warn(
        "NVML or sysfs has not answered for 10 s: the thread that reads the topology is left alone "
        "in it; recording and the application are not affected. RINGSIDE_TOPOLOGY=0 turns it off");
  }
  if (final && !machine_is_known_) {
    machine_is_known_ = true;
    writer_.apply({.state = topology::State::kUnfinished,
                   .reason = "NVML or sysfs had not answered when the process ended",
                   .took_ns = static_cast<std::uint64_t>(reads_for ? reads_for->count() : 0)});
  }
}

// Writes only what is in flight, into memory. The dump writer copies the rest.
void DrainThread::write(const std::shared_ptr<drain::Dump>& dump) {
  if (!dump->is_wanted()) {
    return;
  }
  try {
    exporting::TraceSnapshot snapshot;
    if (Result made = writer_.make_snapshot(snapshot); made.is_ok()) {
      dump_writer_.write(dump, std::move(snapshot));
    } else {
      dump->finish(std::move(made));
    }
  } catch (...) {
    dump->finish(Result(ENOMEM));
    throw;
  }
}

void DrainThread::warn_of_trouble() {
  const auto warn_once = [&](Trouble of, bool is_so, const auto& sentence)
                             RINGSIDE_REQUIRES(threads::kDrainThread) {
                               if (is_so && !told_[of]) {
                                 told_.set(of);
                                 log_.warn(sentence());
                               }
                             };
  warn_once(kSampling, writer_.cannot_sample(), [] {
    return "RINGSIDE_SAMPLE: collectives are all kept, since up to its version 2.25 NCCL numbers "
           "them only while they are recorded: ranks might choose different ones";
  });
  if (const std::string notice = writer_.take_notice(); !notice.empty()) {
    log_.warn(notice);
  }
  warn_once(kFile, writer_.figures().trouble, [&] {
    return "cannot write " + writer_.path() + " (" + std::strerror(writer_.figures().last_error) +
           "): events are lost and counted, and writing is tried again; the application is not "
           "affected. Set RINGSIDE_DIR to a directory that can be written";
  });
  const record::RingPool& rings = record::g_recorder.rings();
  warn_once(kRings, rings.without_file() != 0, [&] {
    return "no room for a ring in " + session_.directory().path() + " (" +
           std::strerror(rings.without_file_error()) +
           "): events of some threads are lost if the process is killed";
  });
  warn_once(kMarkers, nvtx::ranges_without_room() != 0, [] {
    return "too many NVTX ranges are open at once: some operations have none (ringside ctl status "
           "--format json counts them); the trace is not affected";
  });
}

}  // namespace ringside::process
