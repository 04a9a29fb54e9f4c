// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/host_commands.h"

#include <ctime>
#include <utility>

namespace ringside::live {

void run_all(std::vector<HostCommand>& commands, std::size_t most_at_once,
             std::chrono::milliseconds timeout, const std::stop_token& stop) {
  constexpr timespec kPause{0, 2'000'000};
  std::vector<std::pair<HostCommand*, RunningCommand>> running;
  std::size_t next = 0;
  while (!stop.stop_requested() && (next < commands.size() || !running.empty())) {
    while (next < commands.size() && running.size() < most_at_once) {
      HostCommand* const place = &commands[next++];
      running.emplace_back(place, RunningCommand(std::move(*place), timeout));
    }
    std::erase_if(running, [](auto& one) {
      const bool has_ended = one.second.has_ended();
      if (has_ended) {
        *one.first = std::move(one.second.command());
      }
      return has_ended;
    });
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace ringside::live
