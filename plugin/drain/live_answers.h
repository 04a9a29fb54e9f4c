// SPDX-License-Identifier: Apache-2.0
//
// The drain thread's part of replies about the running job, for the control socket.
#ifndef RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
#define RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H

#include <cstdint>
#include <string>

#include "plugin/assemble/account.h"
#include "plugin/assemble/assembler.h"
#include "plugin/export/live_metrics.h"

namespace ringside::drain {

// Both give members of a reply (docs/dev/control-socket.md), with a comma before each.

/// The metrics' sums by communicator.
std::string live_members(const assemble::Assembler& assembler,
                         const exporting::LiveMetrics& metrics, std::int64_t now_ns);

/// The metrics' sums by series, and figures of the rings and of the calling thread, which is the
/// drain thread.
std::string series_members(const assemble::Assembler& assembler,
                           const exporting::LiveMetrics& metrics, const assemble::Account& account);

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
