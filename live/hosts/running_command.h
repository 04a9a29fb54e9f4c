// SPDX-License-Identifier: Apache-2.0
//
// A command that runs: with an input, what it writes, and a time limit. Nobody waits.
#ifndef RINGSIDE_LIVE_HOSTS_RUNNING_COMMAND_H
#define RINGSIDE_LIVE_HOSTS_RUNNING_COMMAND_H

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace ringside::live {

struct HostCommand {
  std::string command;             ///< for /bin/sh
  std::vector<std::string> words;  ///< in its place a program of PATH and its arguments: no shell
  std::string input;               ///< of its standard input, which ends behind it
  std::string secret;              ///< what it may read from descriptor 3; empty: it has none
  std::string output;              ///< what it wrote to standard output; at most 64 MiB
  std::string error;     ///< why `output` may not be whole: it failed, or was ended; empty: it is
  std::string errors;    ///< what it wrote to standard error; its first 4096 bytes
  bool is_late = false;  ///< it was ended because its time was over
};

class RunningCommand {
 public:
  /// Starts it. It is killed, with all that it has started, once it has taken `timeout`.
  RunningCommand(HostCommand command, std::chrono::milliseconds timeout);
  RunningCommand(RunningCommand&& other) noexcept;
  RunningCommand& operator=(RunningCommand&& other) noexcept;
  /// Kills it, if it still runs.
  ~RunningCommand();

  /// True once it has ended, by itself or because its time is over, or it has written too much.
  bool has_ended();
  /// The command, with its output and error once it has ended.
  HostCommand& command();

 private:
  class Running;
  std::unique_ptr<Running> running_;
};

/// Runs all of them, at most `most_at_once` at one time, and waits. A command that has not ended
/// `timeout` after it began, or when `stop` is requested, is ended with all that it has started,
/// within half a second.
void run_all(std::vector<HostCommand>& commands, std::size_t most_at_once,
             std::chrono::milliseconds timeout, const std::stop_token& stop = {});

/// Asks all commands that run to end (SIGTERM), with what they have started. A signal handler may
/// call it.
void end_running_commands() noexcept;

/// From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE end the commands that run, too, where they would
/// end this process by default.
void end_commands_with_this_process();

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_RUNNING_COMMAND_H
