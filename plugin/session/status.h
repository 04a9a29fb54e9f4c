// SPDX-License-Identifier: Apache-2.0
//
// The state of a process's profiler, for those who ask by the C API or by the control socket.
#ifndef RINGSIDE_PLUGIN_SESSION_STATUS_H
#define RINGSIDE_PLUGIN_SESSION_STATUS_H

#include <cstdint>

#include "plugin/drain/trace_writer.h"
#include "plugin/session/recording.h"
#include "ringside/ringside.h"

namespace ringside::session {

struct Status {
  ringside_status_info info{};  ///< as the C API gives it
  Recording::State state = Recording::State::kStopped;
  bool mask_changed = false;  ///< somebody else's change of NCCL's masks keeps events away
  std::int32_t rank = -1;     ///< of this process; -1: not known, or it has several
  WindowPlan plan;            ///< as of `now`
  PlanTime now;
};

/// Fills in the counts of the rings and of the writer in `info`. Any thread may call this.
void add_counts(const drain::TraceWriter& writer, ringside_status_info& info);

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_STATUS_H
