// SPDX-License-Identifier: Apache-2.0
//
// The place of a process's control socket if its ring directory cannot be made, or is not wanted.
#ifndef RINGSIDE_PLUGIN_SESSION_CONTROL_PLACE_H
#define RINGSIDE_PLUGIN_SESSION_CONTROL_PLACE_H

#include <cstdlib>
#include <string>

namespace ringside::session {

/// The parent of a directory like the rings', which holds nothing but the socket and a lock.
inline std::string control_parent() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given == '/' ? given : "/tmp";
}

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_CONTROL_PLACE_H
