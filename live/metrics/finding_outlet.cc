// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/finding_outlet.h"

#include <utility>

#include "analyzer/report/document/numbers.h"

namespace ringside::live {
namespace {

constexpr std::size_t kMostWaiting = 1000;

}  // namespace

FindingOutlet::FindingOutlet(std::vector<FindingTaker> takers, Tell tell)
    : takers_(std::move(takers)), tell_(std::move(tell)) {
  if (!takers_.empty()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { hand_over(stop); });
  }
}

void FindingOutlet::add(std::string line) {
  const std::lock_guard lock(mutex_);
  if (takers_.empty()) {
    return;
  }
  if (lines_.size() >= kMostWaiting) {
    ++lost_;
    return;
  }
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

void FindingOutlet::finish(std::chrono::milliseconds time) {
  if (!thread_.joinable()) {
    return;
  }
  {
    std::unique_lock lock(mutex_);
    is_finishing_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, time, [this] { return is_done_; });
  }
  thread_.request_stop();
  thread_.join();
  if (lost_ > 0) {
    tell_(report::counted(lost_, "finding has", "findings have") + " not been handed over");
  }
}

void FindingOutlet::hand_over(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_finishing_ || !lines_.empty(); });
    if (lines_.empty()) {
      is_done_ = true;
      changed_.notify_all();
      return;
    }
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    bool is_taken = true;
    for (const FindingTaker& taker : takers_) {
      std::vector<HostCommand> commands = {taker.command};
      commands[0].input = line;
      run_all(commands, 1, taker.timeout, stop);
      if (!commands[0].error.empty()) {
        tell_(taker.name + ' ' + commands[0].error);
      }
      is_taken = is_taken && commands[0].error.empty() && !stop.stop_requested();
    }
    lock.lock();
    lost_ += is_taken ? 0 : 1;
  }
}

}  // namespace ringside::live
