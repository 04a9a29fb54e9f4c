// SPDX-License-Identifier: Apache-2.0
//
// Where and how urgently a thread runs.
#ifndef RINGSIDE_PLUGIN_CONFIG_THREAD_PLACE_H
#define RINGSIDE_PLUGIN_CONFIG_THREAD_PLACE_H

#include <optional>
#include <sched.h>
#include <string_view>

namespace ringside::control {

/// CPUs of a list such as "3" or "0-3,8"; nothing if the text is none.
std::optional<cpu_set_t> parse_cpu_list(std::string_view text);

/// For the calling thread alone. 0, or errno: no such CPU, or none that this process may use.
int run_on_cpus(const cpu_set_t& cpus);

/// For the calling thread alone: `nice` from 0 to 19. 0, or errno.
int run_at_nice(int nice);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONFIG_THREAD_PLACE_H
