// SPDX-License-Identifier: Apache-2.0
//
// RINGSIDE_ON_HANG: a command of the user's, run by the drain thread when an operation has stalled.
#ifndef RINGSIDE_PLUGIN_DOORS_HANG_COMMAND_H
#define RINGSIDE_PLUGIN_DOORS_HANG_COMMAND_H

#include <string>
#include <sys/types.h>
#include <vector>

#include "plugin/result/result.h"

namespace ringside::doors {

class HangCommand {
 public:
  /// With an empty command, run() does nothing. The environment is copied here, on a thread of the
  /// application: later, other threads may change it while it is read.
  explicit HangCommand(std::string command);

  /// Starts `/bin/sh -c COMMAND` and does not wait for it. Fails with the error of
  /// posix_spawn(3).
  Result run(const std::string& dump_path);

  /// Collects the commands that have ended, without waiting.
  void reap();

 private:
  std::string command_;
  std::vector<std::string> environment_;
  std::vector<pid_t> running_;
};

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_HANG_COMMAND_H
