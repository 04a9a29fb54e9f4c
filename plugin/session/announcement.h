// SPDX-License-Identifier: Apache-2.0
//
// The plugin's announcement when NCCL opens the first communicator: the event types that it
// records, the place of the trace, and what users must know about kernel channels.
#ifndef RINGSIDE_PLUGIN_SESSION_ANNOUNCEMENT_H
#define RINGSIDE_PLUGIN_SESSION_ANNOUNCEMENT_H

#include <string>
#include <vector>

#include "plugin/config/config.h"
#include "plugin/posix/log.h"
#include "plugin/record/host_side.h"
#include "plugin/session/recording.h"
#include "plugin/session/ring_directory.h"

namespace ringside::session {

struct Line {
  bool is_warning;
  std::string text;
};

std::vector<Line> announcement(const config::Config& config, const Recording& recording,
                               const RingDirectory& directory, const std::string& trace_path);

/// Says the lines through NCCL's logger; warnings, and all of them without a logger, through our
/// own. Never under a mutex: a logger may take long, or call us.
void say(const std::vector<Line>& lines, record::NcclLogger logger, posix::Log& log);

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_ANNOUNCEMENT_H
