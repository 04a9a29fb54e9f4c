// SPDX-License-Identifier: Apache-2.0
//
// Hosts that have not answered in time are asked on, but nobody waits for them any more.
#ifndef RINGSIDE_LIVE_HOSTS_SLOW_HOSTS_H
#define RINGSIDE_LIVE_HOSTS_SLOW_HOSTS_H

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "live/hosts/running_command.h"

namespace ringside::live {

class SlowHosts {
 public:
  /// `command` has not ended in time: from now on it is run in the background, again and again,
  /// until it ends in time.
  void add(const std::string& host, HostCommand command);

  /// Nothing: the host is none of these. Else how the command has ended, after which the host is
  /// none of these any more; or that it has not, or that it was asked something else.
  std::optional<HostCommand> take(const std::string& host, const HostCommand& command);

  /// Starts what does not run yet, at most `most_at_once` at one time.
  void go_on(std::size_t most_at_once, std::chrono::milliseconds timeout);

 private:
  struct Slow {
    HostCommand command;  ///< as it ended last
    std::optional<RunningCommand> running;
  };
  std::map<std::string, Slow> hosts_;
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_SLOW_HOSTS_H
