// SPDX-License-Identifier: Apache-2.0
//
// The hang watch (RINGSIDE_HANG_SECONDS): stalled operations get a line, a dump, and the user's
// command (RINGSIDE_ON_HANG) once the dump is there. The drain thread alone uses it. It looks at
// what the plugin has recorded, and asks nothing of NCCL or the application.
#ifndef RINGSIDE_PLUGIN_DOORS_HANG_WATCH_H
#define RINGSIDE_PLUGIN_DOORS_HANG_WATCH_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/assemble/operations/in_flight.h"
#include "plugin/config/config.h"
#include "plugin/doors/hang_command.h"
#include "plugin/drain/dump_writer.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/posix/log.h"
#include "plugin/session/session.h"

namespace ringside::doors {

/// The operations that were reported, by context.
using Stalls = std::map<std::uint32_t, std::uint64_t>;
/// Returns the stalled operations that are not reported yet. A communicator's stall is reported
/// once: not again until another of its operations stalls.
std::vector<assemble::InFlight> take_unreported(std::vector<assemble::InFlight> stalled,
                                                Stalls& reported);

class HangWatch {
 public:
  /// The most dumps that a process writes by itself. Each has up to RINGSIDE_MAX_BYTES of the
  /// trace.
  static constexpr int kMostDumps = 4;

  HangWatch(const config::Config& config, posix::Log& log, session::Session& session);

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
  HangCommand command_;
  std::int64_t next_look_ns_ = 0;
  Stalls reported_;
  int dumps_ = 0;
  std::shared_ptr<drain::Dump> dump_;  ///< being written
};

struct HangFacts {
  double limit_s;
  std::int64_t now_ns;
  std::uint64_t dropped;  ///< records
  std::string dump_path;  ///< empty: none is written
};

/// One line without control characters. `communicator` may be NULL.
std::string hang_line(const assemble::InFlight& stuck, const assemble::Communicator* communicator,
                      const HangFacts& facts);

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_HANG_WATCH_H
