// SPDX-License-Identifier: Apache-2.0
//
// The identity of this process: host, job, rank, NCCL's environment.
#ifndef RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H
#define RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H

#include <string>

#include "plugin/config/config.h"
#include "plugin/export/lines/chrome_trace.h"

namespace ringside::drain {

/// Reads the facts that are known before NCCL calls. Those of the clock and of NCCL stay unset.
exporting::ProcessFacts read_process_facts(const config::Config& config);

/// Makes a path that stays valid when the application changes its working directory.
std::string absolute_path(const std::string& path);

/// Returns `ringside.<job>.<host>.<pid>.<start>.json`. No two processes have the same name, even if
/// their containers have equal host names and process ids and they begin at the same moment:
/// `<start>` is the time in microseconds, a hyphen, and eight random hexadecimal digits of the run
/// id.
std::string trace_name(const config::Config& config, const exporting::ProcessFacts& facts);

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H
