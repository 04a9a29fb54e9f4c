// SPDX-License-Identifier: Apache-2.0
//
// Who this process is: host, job, rank, NCCL's environment.
#ifndef RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H
#define RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H

#include <string>

#include "plugin/config/config.h"
#include "plugin/export/process_facts.h"

namespace ringside::control {

/// All that is known before NCCL calls; the clock's and NCCL's part is left open.
exporting::ProcessFacts read_process_facts(const Config& config);

/// A path that stays right when the application changes its working directory.
std::string absolute_path(const std::string& path);

/// `ringside.<job>.<host>.<pid>.<start>.json`. What does not suit a file name in job and host
/// becomes
/// '_', so that no name leads out of the directory.
std::string trace_name(const Config& config, const exporting::ProcessFacts& facts);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H
