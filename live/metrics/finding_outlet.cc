// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/finding_outlet.h"

#include <utility>

#include "analyzer/report/document/numbers.h"

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 1000;

}  // namespace

FindingOutlet::FindingOutlet(std::vector<FindingTaker> takers, Tell tell)
    : takers_(std::move(takers)), tell_(std::move(tell)) {
  if (!takers_.empty()) {
    thread_ = std::thread([this] { hand_over(); });
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
    const std::lock_guard lock(mutex_);
    is_finishing_ = true;
    until_ = Clock::now() + time;
    changed_.notify_all();
  }
  thread_.join();
  if (lost_ > 0) {
    tell_(report::counted(lost_, "finding has", "findings have") + " not been handed over");
  }
}

void FindingOutlet::hand_over() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_finishing_ || !lines_.empty(); });
    if (lines_.empty()) {
      return;
    }
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    bool is_taken = true;
    for (const FindingTaker& taker : takers_) {
      is_taken = run(taker, line) && is_taken;
    }
    lock.lock();
    lost_ += is_taken ? 0 : 1;
  }
}

bool FindingOutlet::run(const FindingTaker& taker, const std::string& line) {
  constexpr std::chrono::milliseconds kPause(20);
  HostCommand command = taker.command;
  command.input = line;
  RunningCommand running(std::move(command), taker.timeout);
  while (!running.has_ended()) {
    std::unique_lock lock(mutex_);
    // Whoever finishes does not wait for the pause.
    changed_.wait_for(lock, kPause, [this] { return Clock::now() >= until_; });
    if (Clock::now() >= until_) {
      return false;  // its end kills the command
    }
  }
  const std::string& error = running.command().error;
  if (!error.empty()) {
    tell_(taker.name + ' ' + error);
  }
  return error.empty();
}

}  // namespace ringside::live
