// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/slow_hosts.h"

#include <utility>

namespace ringside::live {

void SlowHosts::add(const std::string& host, HostCommand command) {
  hosts_[host] = {std::move(command), std::nullopt};
}

std::optional<HostCommand> SlowHosts::take(const std::string& host, const HostCommand& command) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) {
    return std::nullopt;
  }
  Slow& slow = found->second;
  if (slow.running && slow.running->has_ended()) {
    slow.command = std::move(slow.running->command());
    slow.running.reset();
    const bool is_asked_so = slow.command.input == command.input;
    if (!slow.command.is_late) {
      HostCommand ended = std::move(slow.command);
      hosts_.erase(found);
      return is_asked_so ? std::optional(std::move(ended)) : std::nullopt;
    }
  }
  HostCommand waits = command;
  waits.is_late = true;
  waits.error = slow.command.error;
  return waits;
}

void SlowHosts::go_on(std::size_t most_at_once, std::chrono::milliseconds timeout) {
  std::size_t running = 0;
  for (const auto& [host, slow] : hosts_) {
    running += slow.running ? 1 : 0;
  }
  for (auto& [host, slow] : hosts_) {
    if (!slow.running && running < most_at_once) {
      slow.running.emplace(slow.command, timeout);
      ++running;
    }
  }
}

}  // namespace ringside::live
