// SPDX-License-Identifier: Apache-2.0
//
// Hands findings to programs, one after the other, on a thread of its own: who finds does not wait.
#ifndef RINGSIDE_LIVE_METRICS_FINDING_OUTLET_H
#define RINGSIDE_LIVE_METRICS_FINDING_OUTLET_H

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "live/hosts/running_command.h"

namespace ringside::live {

/// A program that gets each finding on its standard input.
struct FindingTaker {
  std::string name;  ///< for messages: "--command"
  HostCommand command;
  std::chrono::milliseconds timeout{30000};
};

class FindingOutlet {
 public:
  using Tell = std::function<void(const std::string&)>;

  /// `tell` gets what failed, on the outlet's thread.
  FindingOutlet(std::vector<FindingTaker> takers, Tell tell);
  FindingOutlet(const FindingOutlet&) = delete;
  FindingOutlet& operator=(const FindingOutlet&) = delete;
  /// As finish(), with no time left.
  ~FindingOutlet() { finish(std::chrono::milliseconds(0)); }

  /// Takes a line. If a thousand wait already, it is lost, and counted.
  void add(std::string line);
  /// Waits so long for what has not been handed over; the rest is lost. Tells how many findings
  /// were.
  void finish(std::chrono::milliseconds time);

 private:
  void hand_over(const std::stop_token& stop);

  const std::vector<FindingTaker> takers_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool is_finishing_ = false;
  bool is_done_ = false;  ///< then
  std::size_t lost_ = 0;  ///< lines that not all takers have got
  std::jthread thread_;   ///< the last member: it uses the others
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_METRICS_FINDING_OUTLET_H
