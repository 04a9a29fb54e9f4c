// SPDX-License-Identifier: Apache-2.0
//
// Stalled operations (RINGSIDE_HANG_SECONDS) get a line, a dump, and the user's command
// (RINGSIDE_ON_HANG) once the dump is there.
#ifndef RINGSIDE_PLUGIN_DOORS_HANG_ALARM_H
#define RINGSIDE_PLUGIN_DOORS_HANG_ALARM_H

#include <memory>

#include "plugin/config/config.h"
#include "plugin/doors/hang_command.h"
#include "plugin/doors/hang_watch.h"
#include "plugin/drain/dump_writer.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/posix/log.h"
#include "plugin/session/session.h"
#include "plugin/threads/annotations.h"

namespace ringside::doors {

class HangAlarm {
 public:
  HangAlarm(const config::Config& config, posix::Log& log, session::Session& session);

  /// Looks for stalled operations, once a second at most, and says a line for each new one. Returns
  /// a dump that the caller writes; NULL: none.
  std::shared_ptr<drain::Dump> look(drain::TraceWriter& writer)
      RINGSIDE_REQUIRES(threads::kDrainThread);
  /// Runs the command when that dump is there, or cannot be.
  void follow() RINGSIDE_REQUIRES(threads::kDrainThread);

 private:
  const config::Config& config_;
  posix::Log& log_;
  session::Session& session_;
  HangWatch watch_;
  HangCommand command_;
  int dumps_ = 0;
  std::shared_ptr<drain::Dump> dump_;  ///< being written
};

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_HANG_ALARM_H
