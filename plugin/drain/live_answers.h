// SPDX-License-Identifier: Apache-2.0
//
// The drain thread's part of replies about the running job, for the control socket.
#ifndef RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
#define RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H

#include <cstdint>
#include <string>

#include "plugin/assemble/assembler.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/metrics_text.h"

namespace ringside::control {

/// The metrics' facts about operations in flight, rings, and the calling thread, which is the drain
/// thread. The caller adds the other facts.
exporting::MetricsFacts metrics_facts(const assemble::Assembler& assembler, std::int64_t now_ns);

/// The metrics' sums by communicator, as members of a reply (docs/control.md).
std::string live_members(const assemble::Assembler& assembler,
                         const exporting::LiveMetrics& metrics, std::int64_t now_ns);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
