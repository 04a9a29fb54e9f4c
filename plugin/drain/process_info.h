// SPDX-License-Identifier: Apache-2.0
//
// The identity of this process: host, job, rank, NCCL's environment.
#ifndef RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H
#define RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H

#include <string>

#include "plugin/config/config.h"
#include "plugin/export/process_facts.h"

namespace ringside::control {

/// Reads the facts that are known before NCCL calls. Those of the clock and of NCCL stay unset.
exporting::ProcessFacts read_process_facts(const Config& config);

/// Makes a path that stays valid when the application changes its working directory.
std::string absolute_path(const std::string& path);

std::string trace_name(const Config& config, const exporting::ProcessFacts& facts);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_PROCESS_INFO_H
