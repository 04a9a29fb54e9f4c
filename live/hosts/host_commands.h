// SPDX-License-Identifier: Apache-2.0
//
// Runs commands, a bounded number of them at one time, and waits.
#ifndef RINGSIDE_LIVE_HOSTS_HOST_COMMANDS_H
#define RINGSIDE_LIVE_HOSTS_HOST_COMMANDS_H

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <vector>

#include "live/hosts/running_command.h"

namespace ringside::live {

/// Runs all of them, at most `most_at_once` at one time, and waits. A command that has not ended
/// `timeout` after it began, or when `stop` is requested, is killed with all that it has started.
void run_all(std::vector<HostCommand>& commands, std::size_t most_at_once,
             std::chrono::milliseconds timeout, const std::stop_token& stop = {});

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_HOST_COMMANDS_H
