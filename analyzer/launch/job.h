// SPDX-License-Identifier: Apache-2.0
//
// Runs a command as if it had been started directly: its streams, its signals, its exit status.
#ifndef RINGSIDE_ANALYZER_LAUNCH_JOB_H
#define RINGSIDE_ANALYZER_LAUNCH_JOB_H

#include <string>
#include <vector>

#include "analyzer/launch/text.h"

namespace ringside::launch {

// Statuses of shells, and of `env` and `timeout`, for a command that cannot be run.
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalled = 128;  ///< plus the signal's number

struct JobEnd {
  int status = 0;     ///< to exit with
  int signal = 0;     ///< that ended the command; 0: none
  std::string error;  ///< why it could not be started; "": it was
};

/// Starts `command` (not empty) with `variables` added to the environment, and waits for its end.
/// It stays in this process group: what a terminal sends reaches it anyway, once. SIGINT, SIGTERM,
/// SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT and SIGTSTP that a process sends to this one are
/// passed on, except those that were ignored when this process began. Stops together with the
/// command.
JobEnd run_job(const std::vector<std::string>& command, const Variables& variables);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_JOB_H
