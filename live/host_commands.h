// SPDX-License-Identifier: Apache-2.0
//
// Runs commands, a bounded number of them at one time, each with an input and a time limit.
#ifndef RINGSIDE_LIVE_HOST_COMMANDS_H
#define RINGSIDE_LIVE_HOST_COMMANDS_H

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace ringside::live {

struct HostCommand {
  std::string command;  ///< for /bin/sh
  std::string input;    ///< of its standard input, which ends behind it
  std::string output;   ///< what it wrote to standard output; at most 64 MiB
  std::string error;    ///< why `output` may not be whole: it failed, or was ended; empty: it is
};

/// Runs all of them, at most `most_at_once` at one time, and waits. A command that has not ended
/// `timeout` after it began is killed with all that it has started. Not to be called by several
/// threads.
void run_all(std::vector<HostCommand>& commands, std::size_t most_at_once,
             std::chrono::milliseconds timeout);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOST_COMMANDS_H
