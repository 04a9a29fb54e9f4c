// SPDX-License-Identifier: Apache-2.0
//
// CPUs of the calling thread.
#ifndef RINGSIDE_PLUGIN_CONFIG_THREAD_PLACE_H
#define RINGSIDE_PLUGIN_CONFIG_THREAD_PLACE_H

#include <optional>
#include <sched.h>
#include <string_view>

#include "plugin/result/result.h"

namespace ringside::config {

/// Parses a list of CPUs such as "3" or "0-3,8". Returns nothing if it is not valid.
std::optional<cpu_set_t> parse_cpu_list(std::string_view text);

/// Binds the calling thread to these CPUs. Fails with the system's error if they do not exist or
/// this process may not use them.
Result run_on_cpus(const cpu_set_t& cpus);

}  // namespace ringside::config

#endif  // RINGSIDE_PLUGIN_CONFIG_THREAD_PLACE_H
