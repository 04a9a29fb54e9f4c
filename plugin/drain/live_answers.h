// SPDX-License-Identifier: Apache-2.0
//
// The drain thread's part of replies about the running job, for the control socket.
#ifndef RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
#define RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H

#include <cstdint>
#include <optional>
#include <string>

#include "plugin/assemble/account.h"
#include "plugin/assemble/assembler.h"
#include "plugin/export/live_metrics.h"

namespace ringside::drain {

/// Members of a reply (docs/dev/control-socket.md), with a comma before each: the metrics' sums by
/// communicator; with an account of now also those by series, the account, and figures of the rings
/// and of the calling thread, which is the drain thread.
std::string live_members(const assemble::Assembler& assembler,
                         const exporting::LiveMetrics& metrics, std::int64_t now_ns,
                         const std::optional<assemble::Account>& account);

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
