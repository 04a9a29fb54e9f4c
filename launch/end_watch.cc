// SPDX-License-Identifier: Apache-2.0
#include "launch/end_watch.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "launch/process_files.h"

namespace ringside::launch {
namespace {

constexpr int kLookAgain_ms = 100;
constexpr long kPidfdOpen = 434;  // on all architectures; older headers do not have it

std::int64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The last member of /proc/PID/stat of a process that has ended and that its parent has not taken.
std::optional<int> status_of(pid_t pid) {
  const std::vector<std::string> words = process_stat(pid);
  constexpr std::size_t kExitCode = 49;  // counted from the state, which is the third member
  return words.size() > kExitCode && words.front() == "Z"
             ? std::optional(std::atoi(words[kExitCode].c_str()))
             : std::nullopt;
}

}  // namespace

EndWatch::EndWatch(const JobRings& rings) : rings_(rings), wake_(eventfd(0, EFD_CLOEXEC)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EndWatch::~EndWatch() {
  stop();
  close(wake_);
  for (const auto& [pid, descriptor] : watched_) {
    close(descriptor);
  }
}

std::vector<ProcessEnd> EndWatch::stop() {
  is_stopped_ = true;
  // Without an eventfd, the thread sees it a moment later.
  const std::uint64_t once = 1;
  [[maybe_unused]] const ssize_t wrote = write(wake_, &once, sizeof once);
  if (thread_.joinable()) {
    thread_.join();
  }
  return std::exchange(ends_, {});
}

void EndWatch::run() {
  while (!is_stopped_) {
    look_for_processes();
    wait_for_ends();
  }
}

void EndWatch::look_for_processes() {
  constexpr unsigned kLooksPerSecond = 1000 / kLookAgain_ms;
  for (const pid_t pid : rings_.living()) {
    have_rings_ = true;
    ranks_.erase(pid);
    watch(pid);
  }
  if (!have_rings_ && looks_++ % kLooksPerSecond == 0) {
    look_for_ranks(getpid());
  }
}

void EndWatch::look_for_ranks(pid_t parent) {
  for (const std::int64_t child : children_of(parent)) {
    const auto pid = static_cast<pid_t>(child);
    const std::string environment = process_file(pid, "environ");
    const std::string rank = rank_in(environment);
    if (!rank.empty() && variable_in(environment, kLaunchVariable) == rings_.launch()) {
      ranks_[pid] = rank;
      watch(pid);
    }
    look_for_ranks(pid);
  }
}

void EndWatch::watch(pid_t pid) {
  if (pid > 0 && watched_.count(pid) == 0) {
    const auto descriptor = static_cast<int>(syscall(kPidfdOpen, pid, 0));
    if (descriptor >= 0) {
      watched_[pid] = descriptor;
    }
  }
}

void EndWatch::wait_for_ends() {
  std::vector<pollfd> waited;
  std::vector<pid_t> pids;
  for (const auto& [pid, descriptor] : watched_) {
    waited.push_back({descriptor, POLLIN, 0});
    pids.push_back(pid);
  }
  waited.push_back({wake_, POLLIN, 0});
  if (poll(waited.data(), waited.size(), kLookAgain_ms) <= 0) {
    return;
  }
  for (std::size_t i = 0; i < pids.size(); ++i) {
    if (waited[i].revents != 0) {
      ends_.push_back({pids[i], realtime_ns(), status_of(pids[i]), ranks_[pids[i]]});
      close(waited[i].fd);
      watched_.erase(pids[i]);
    }
  }
}

std::string this_boot_id() {
  return first_line("/proc/sys/kernel/random/boot_id");
}

std::string end_line(const ProcessEnd& end, const std::string& boot_id) {
  return R"({"boot_id":")" + boot_id + R"(","pid":)" + std::to_string(end.pid) +
         R"(,"ended_realtime_ns":)" + std::to_string(end.realtime_ns) +
         (end.status ? R"(,"wait_status":)" + std::to_string(*end.status) : "") + "}\n";
}

}  // namespace ringside::launch
