// SPDX-License-Identifier: Apache-2.0
//
// What the control socket's requests mean for the session, and what is answered
// (docs/dev/control-socket.md).
#ifndef RINGSIDE_PLUGIN_DOORS_CONTROL_SERVICE_H
#define RINGSIDE_PLUGIN_DOORS_CONTROL_SERVICE_H

#include "plugin/config/config.h"
#include "plugin/doors/control_socket.h"
#include "plugin/posix/log.h"
#include "plugin/session/session.h"

namespace ringside::doors {

/// Begins the socket in the session's directory, or warns. Nothing happens if no socket is wanted,
/// or there is no directory. Once.
void begin_control(ControlSocket& socket, session::Session& session, const config::Config& config,
                   posix::Log& log) RINGSIDE_REQUIRES(threads::kDrainThread);

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_CONTROL_SERVICE_H
