// SPDX-License-Identifier: Apache-2.0
//
// What the drain thread says of the running job, to whoever asks through the control socket.
#ifndef RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
#define RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H

#include <cstdint>
#include <string>

#include "plugin/assemble/assembler.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/metrics_text.h"

namespace ringside::control {

/// What the metrics say of operations in flight, of the rings and of the calling thread, which is
/// the drain thread. The other facts are the caller's to add.
exporting::MetricsFacts metrics_facts(const assemble::Assembler& assembler, std::int64_t now_ns);

/// The metrics' sums by communicator, as members of an answer (docs/control.md).
std::string live_members(const assemble::Assembler& assembler,
                         const exporting::LiveMetrics& metrics, std::int64_t now_ns);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_LIVE_ANSWERS_H
