// SPDX-License-Identifier: Apache-2.0
//
// NVTX ranges (RINGSIDE_MARKERS): prepared with the first communicator, before its first event, on
// the thread that inits it, since a tool may take its time to load.
#ifndef RINGSIDE_PLUGIN_SESSION_MARKER_SETUP_H
#define RINGSIDE_PLUGIN_SESSION_MARKER_SETUP_H

#include <mutex>
#include <string>

#include "plugin/assemble/rows.h"
#include "plugin/config/config.h"
#include "plugin/posix/log.h"

namespace ringside::session {

class MarkerSetup {
 public:
  /// A thread that inits a communicator meanwhile waits, so that none of its events is missed.
  /// Call this without any mutex: the tool may call any function.
  void add_communicator(const assemble::Communicator& communicator, const config::Config& config,
                        const std::string& host, posix::Log& log);

 private:
  std::once_flag once_;
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_MARKER_SETUP_H
