// SPDX-License-Identifier: Apache-2.0
//
// The drain thread. Every few milliseconds, or when woken, it moves notes and records to the trace.
#ifndef RINGSIDE_PLUGIN_PROCESS_DRAIN_THREAD_H
#define RINGSIDE_PLUGIN_PROCESS_DRAIN_THREAD_H

#include <bitset>
#include <cstdint>
#include <memory>

#include "plugin/config/config.h"
#include "plugin/doors/control_socket.h"
#include "plugin/doors/hang_watch.h"
#include "plugin/drain/dump_writer.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/posix/log.h"
#include "plugin/session/notes.h"
#include "plugin/session/session.h"
#include "plugin/threads/mutex.h"
#include "plugin/topology/probe.h"

namespace ringside::process {

class DrainThread {
 public:
  /// The arguments must outlive the thread.
  DrainThread(const config::Config& config, posix::Log& log, drain::TraceWriter& writer,
              session::Session& session, doors::ControlSocket& control);

  /// Starts the thread. Returns false if that fails. Called once.
  bool start();

  /// As DumpWriter::wait_until_idle(). The thread must have ended.
  bool wait_for_dumps(threads::Clock::time_point until) {
    return dump_writer_.wait_until_idle(until);
  }

 private:
  static void* thread_main(void* self) noexcept;
  template <typename Step>
  bool survives(Step step) noexcept RINGSIDE_REQUIRES(threads::kDrainThread);
  void run() noexcept RINGSIDE_REQUIRES(threads::kDrainThread);
  void move_to_place() RINGSIDE_REQUIRES(threads::kDrainThread);
  bool wait(int idle_cycles) RINGSIDE_REQUIRES(threads::kDrainThread);
  bool cycle(bool final) RINGSIDE_REQUIRES(threads::kDrainThread);
  bool apply_notes() RINGSIDE_REQUIRES(threads::kDrainThread);
  void write(const std::shared_ptr<drain::Dump>& dump) RINGSIDE_REQUIRES(threads::kDrainThread);
  void look_at_machine(bool final) RINGSIDE_REQUIRES(threads::kDrainThread);
  void warn_of_trouble() RINGSIDE_REQUIRES(threads::kDrainThread);

  const config::Config& config_;
  posix::Log& log_;
  drain::TraceWriter& writer_;
  session::Session& session_;
  doors::ControlSocket& control_;
  drain::DumpWriter dump_writer_;
  doors::HangWatch hang_watch_ RINGSIDE_GUARDED_BY(threads::kDrainThread);
  session::TakenNotes notes_ RINGSIDE_GUARDED_BY(threads::kDrainThread);
  topology::Probe probe_;
  threads::Clock::time_point next_look_ RINGSIDE_GUARDED_BY(threads::kDrainThread);
  bool application_has_ended_ RINGSIDE_GUARDED_BY(threads::kDrainThread) = false;
  bool probe_is_started_ RINGSIDE_GUARDED_BY(threads::kDrainThread) = false;
  bool machine_is_known_ RINGSIDE_GUARDED_BY(threads::kDrainThread) = false;
  bool all_were_closed_ RINGSIDE_GUARDED_BY(threads::kDrainThread) = false;
  /// What has been warned of: most warnings are given once in a process.
  enum Trouble : std::uint8_t { kProbe, kMemory, kFile, kRings, kMarkers, kSampling, kTroubles };
  std::bitset<kTroubles> told_ RINGSIDE_GUARDED_BY(threads::kDrainThread);
};

}  // namespace ringside::process

#endif  // RINGSIDE_PLUGIN_PROCESS_DRAIN_THREAD_H
