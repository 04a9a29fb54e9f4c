// SPDX-License-Identifier: Apache-2.0
//
// Runs a command as if it had been started directly: its streams, its signals, its exit status.
#ifndef RINGSIDE_ANALYZER_LAUNCH_JOB_H
#define RINGSIDE_ANALYZER_LAUNCH_JOB_H

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "launch/text.h"

namespace ringside::launch {

// Statuses of shells, and of `env` and `timeout`, for a command that cannot be run.
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalled = 128;  ///< plus the signal's number

/// Processes of the command that outlive it are waited for, so that their traces are whole.
struct Outliving {
  std::function<std::size_t()> count;     ///< how many still record; asked ten times a second
  std::chrono::milliseconds patience{0};  ///< how long they are waited for
  /// Called before each wait, with the number and the time that is left.
  std::function<void(std::size_t, std::chrono::milliseconds)> show;
};

struct JobEnd {
  int status = 0;     ///< to exit with
  int signal = 0;     ///< that ended the command; 0: none
  std::string error;  ///< why it could not be started; "": it was
  /// A signal has ended the waiting: for the command itself (a second SIGTERM), or for processes
  /// that outlive it.
  bool is_cut_short = false;
};

/// Starts `command` (not empty) with `variables` added to the environment, and waits for its end
/// and then for what outlives it. It stays in this process group: what a terminal sends reaches it
/// anyway, once. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT and SIGTSTP that a
/// process sends to this one are passed on, except those that were ignored when this process began.
/// Stops together with the command.
///
/// A second SIGTERM from a process, a second or more after the first, is passed on and ends the
/// waiting at once; so does any of SIGINT, SIGTERM, SIGHUP and SIGQUIT after the command has ended,
/// a second or more after the last one. Signals that come closer together count as one: `timeout`
/// signals its child, and then the process group that its child is in.
JobEnd run_job(const std::vector<std::string>& command, const Variables& variables,
               const Outliving& outliving);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_JOB_H
