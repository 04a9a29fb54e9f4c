// SPDX-License-Identifier: Apache-2.0
//
// Serves the control socket: what its requests mean for the session, and what is answered
// (docs/dev/control-socket.md).
#ifndef RINGSIDE_PLUGIN_DOORS_CONTROL_SERVICE_H
#define RINGSIDE_PLUGIN_DOORS_CONTROL_SERVICE_H

#include "plugin/config/config.h"
#include "plugin/doors/control_socket.h"
#include "plugin/posix/log.h"
#include "plugin/session/session.h"

namespace ringside::doors {

class ControlService {
 public:
  explicit ControlService(session::Session& session) : session_(session) {}

  /// Makes the socket in the session's directory and starts its thread, or warns. Nothing happens
  /// if no socket is wanted, or there is no directory. Once.
  void begin(const config::Config& config, posix::Log& log)
      RINGSIDE_REQUIRES(threads::kDrainThread);
  /// As ControlSocket::end().
  void end(threads::Clock::time_point until) noexcept { socket_.end(until); }
  void close_in_child() noexcept { socket_.close_in_child(); }

 private:
  session::Session& session_;
  ControlSocket socket_;
};

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_CONTROL_SERVICE_H
