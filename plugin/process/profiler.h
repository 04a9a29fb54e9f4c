// SPDX-License-Identifier: Apache-2.0
//
// The profiler of this process: the one place that puts session, drain thread and control socket
// together.
#ifndef RINGSIDE_PLUGIN_PROCESS_PROFILER_H
#define RINGSIDE_PLUGIN_PROCESS_PROFILER_H

#include "plugin/config/config.h"
#include "plugin/doors/control_socket.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/posix/log.h"
#include "plugin/process/drain_thread.h"
#include "plugin/session/session.h"

namespace ringside::process {

class Profiler {
 public:
  /// The process's profiler; made at the first use, never destroyed. NULL where it cannot be made,
  /// and in the child of a process that had opened a communicator, or begun to write, before the
  /// fork. The child of a process that had not is a process of its own, and has its own profiler.
  static Profiler* get() noexcept;
  /// The same, or NULL if there is none yet.
  static Profiler* existing() noexcept;
  /// For the child of a fork: closes the sockets that the parent's clients would otherwise wait at.
  static void close_in_child() noexcept;
  /// Says, once, why nothing is recorded in the child of a fork. It takes no memory.
  static void tell_in_child() noexcept;

  explicit Profiler(config::Config config);

  session::Session& session() { return session_; }

  /// At exit of the process: has the drain thread write what is left, and waits for it as long as
  /// it makes progress, RINGSIDE_EXIT_SECONDS at most. What is left then stays for recovery, and
  /// the log says so. It takes no memory: exit() may have been called in a handler that has
  /// interrupted an allocation.
  void shut_down() noexcept;

 private:
  bool end_drain_thread(threads::Clock::time_point last) noexcept;
  void say_what_is_left(bool stands_still) noexcept;

  const config::Config config_;
  posix::Log log_;
  drain::TraceWriter writer_;
  session::Session session_;
  doors::ControlSocket control_;
  DrainThread drain_thread_;
};

}  // namespace ringside::process

#endif  // RINGSIDE_PLUGIN_PROCESS_PROFILER_H
