// SPDX-License-Identifier: Apache-2.0
#include "launch/job.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace ringside::launch {
namespace {

constexpr std::array kPassedOn = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};

using Clock = std::chrono::steady_clock;

// Signals that come closer together are one request to end.
constexpr auto kOneRequest = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLookAgain{100};

// Holds signals back while the command runs, so that they can be looked at one by one. Those that
// are ignored stay ignored: the kernel would keep them for us once they are blocked.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    sigaddset(&held_, SIGCHLD);
    for (const int number : kPassedOn) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
        sigaddset(&held_, number);
      }
    }
    // If SIGCHLD is ignored, the kernel throws exit statuses away.
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &plain, &child_before_);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() {
    // Signals that came while the command ended were meant for the command.
    const timespec at_once{};
    while (sigtimedwait(&held_, nullptr, &at_once) > 0) {
    }
    put_back();
  }

  siginfo_t wait() const {
    siginfo_t info{};
    while (sigwaitinfo(&held_, &info) < 0) {
    }
    return info;
  }

  std::optional<siginfo_t> wait_for(std::chrono::milliseconds time) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec limit{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
    siginfo_t info{};
    return sigtimedwait(&held_, &info, &limit) > 0 ? std::optional(info) : std::nullopt;
  }

  /// For the child, which must not inherit any of this.
  void put_back() const {
    sigaction(SIGCHLD, &child_before_, nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t held_{};
  sigset_t before_{};
  struct sigaction child_before_ {};
};

// By the default action, which spares a process that nobody could continue. Goes on when SIGCONT
// has come.
void stop_here() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  sigprocmask(SIG_BLOCK, &only, nullptr);
}

// A positive code is the kernel's: the terminal has sent it to the whole process group.
bool is_from_process(const siginfo_t& info) {
  return info.si_code <= 0;
}

bool asks_to_end(const siginfo_t& info) {
  constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  return std::find(kEnding.begin(), kEnding.end(), info.si_signo) != kEnding.end();
}

void pass_on(const siginfo_t& info, pid_t child) {
  if (is_from_process(info) && info.si_pid != child) {
    kill(child, info.si_signo);
  }
  if (info.si_signo == SIGTSTP) {
    stop_here();
  }
}

[[noreturn]] void become(const std::vector<std::string>& command, const Variables& variables,
                         int report) {
  for (const Variable& variable : variables) {
    setenv(variable.name.c_str(), variable.value.c_str(), 1);
  }
  execvp(command.front().c_str(), argument_pointers(command).data());
  const int error = errno;
  // A pipe takes four bytes at once; if it does not, the parent sees the exit status.
  [[maybe_unused]] const ssize_t wrote = write(report, &error, sizeof error);
  _exit(error == ENOENT ? kNotFound : kCannotExecute);
}

JobEnd not_started(const std::string& what, int error) {
  return {error == ENOENT ? kNotFound : kCannotExecute, 0, what + ": " + std::strerror(error),
          false};
}

// The signals that asked ringside itself to end, while it waits.
struct Requests {
  std::optional<Clock::time_point> first_sigterm;
  std::optional<Clock::time_point> last;  ///< of any signal that asks to end
};

// The command's status; nothing if a second SIGTERM came first.
std::optional<int> wait_for(pid_t child, const HeldSignals& signals, Requests& requests) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    const siginfo_t info = signals.wait();
    if (info.si_signo == SIGCHLD) {
      continue;
    }
    pass_on(info, child);
    const Clock::time_point now = Clock::now();
    if (asks_to_end(info)) {
      requests.last = now;
    }
    // An interactive command gets any number of the others, and lives on.
    if (info.si_signo == SIGTERM && is_from_process(info)) {
      if (requests.first_sigterm && now - *requests.first_sigterm >= kOneRequest) {
        return std::nullopt;
      }
      requests.first_sigterm = requests.first_sigterm.value_or(now);
    }
  }
  return status;
}

// False if a signal has ended it.
bool wait_for_others(const Outliving& outliving, const HeldSignals& signals, Requests& requests) {
  const Clock::time_point until = Clock::now() + outliving.patience;
  for (std::size_t count = outliving.count(); count != 0; count = outliving.count()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) {
      return true;
    }
    outliving.show(count, left);
    const auto info = signals.wait_for(std::min(left, kLookAgain));
    if (info && info->si_signo == SIGTSTP) {
      stop_here();
    }
    if (info && asks_to_end(*info)) {
      const Clock::time_point now = Clock::now();
      if (!requests.last || now - *requests.last >= kOneRequest) {
        return false;
      }
      requests.last = now;
    }
  }
  return true;
}

}  // namespace

JobEnd run_job(const std::vector<std::string>& command, const Variables& variables,
               const Outliving& outliving) {
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    return not_started("no pipe", errno);
  }
  std::fflush(nullptr);  // else the child would have it too
  const HeldSignals signals;
  const pid_t child = fork();
  if (child == 0) {
    signals.put_back();
    become(command, variables, report[1]);
  }
  const int fork_error = errno;
  close(report[1]);
  int error = 0;
  // Ends at once when the command has begun: exec closes the other end.
  const bool has_failed = child > 0 && read(report[0], &error, sizeof error) == sizeof error;
  close(report[0]);
  if (child < 0) {
    return not_started("no process", fork_error);
  }
  Requests requests;
  const std::optional<int> status = wait_for(child, signals, requests);
  if (has_failed) {
    return not_started(command.front(), error);
  }
  if (!status) {
    return {kSignalled + SIGTERM, 0, {}, true};
  }
  JobEnd end = WIFSIGNALED(*status)
                   ? JobEnd{kSignalled + WTERMSIG(*status), WTERMSIG(*status), {}, false}
                   : JobEnd{WEXITSTATUS(*status), 0, {}, false};
  end.is_cut_short = !wait_for_others(outliving, signals, requests);
  return end;
}

}  // namespace ringside::launch
