// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/running_command.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "launch/files.h"
#include "launch/text.h"

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;
constexpr timespec kPause{0, 2'000'000};

// The process groups of commands that run, for a signal handler. A command beyond so many runs all
// the same, and ends by its time limit.
std::array<std::atomic<pid_t>, 4096> g_groups{};

void replace_group(pid_t from, pid_t to) {
  for (std::atomic<pid_t>& group : g_groups) {
    pid_t expected = from;
    if (group.compare_exchange_strong(expected, to)) {
      return;
    }
  }
}

void end_commands_and_this(int signal) {
  end_running_commands();
  raise(signal);  // SA_RESETHAND: it ends this process now
}

// How the command ended, unless it did well, with the last line that it wrote to standard error.
std::string failure_of(int status, std::string said) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  std::string text = WIFSIGNALED(status)
                         ? "was killed by signal " + std::to_string(WTERMSIG(status))
                         : "ended with status " + std::to_string(WEXITSTATUS(status));
  said.erase(said.find_last_not_of(" \r\n") + 1);
  said.erase(0, said.rfind('\n') + 1);
  return said.empty() ? text : text + ": " + launch::printable(said);
}

}  // namespace

// Memory that a command reads or writes as a file: nobody waits.
class NamelessFile {
 public:
  explicit NamelessFile(std::string_view text = {})
      : descriptor_(memfd_create("ringside", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
        is_good_(launch::write_whole(descriptor_, text) && lseek(descriptor_, 0, SEEK_SET) == 0) {}
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }

  int descriptor() const { return descriptor_; }
  bool is_good() const { return is_good_; }

  std::size_t size() const {
    struct stat about {};
    return fstat(descriptor_, &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
  }
  /// Returns what has been written. No process that the command has started can write any more.
  std::string take(std::size_t most_bytes) const {
    fcntl(descriptor_, F_ADD_SEALS, F_SEAL_WRITE);
    std::string text(std::min(size(), most_bytes), '\0');
    const ssize_t got = pread(descriptor_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int descriptor_;
  bool is_good_;
};

class RunningCommand::Running {
 public:
  Running(HostCommand asked, std::chrono::milliseconds timeout)
      : command(std::move(asked)),
        timeout_(timeout),
        until_(Clock::now() + timeout),
        input_(command.input),
        secret_(command.secret) {
    command.output.clear();
    command.error.clear();
    command.is_late = false;
    if (!input_.is_good() || !secret_.is_good() || !output_.is_good() || !errors_.is_good()) {
      command.error = std::string("cannot be started: ") + std::strerror(errno);
      return;
    }
    // A signal that ends this process must find the command in the table.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    spawn(before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { kill_all(); }

  bool has_ended();

  HostCommand command;

 private:
  void spawn(const sigset_t& mask);
  void kill_all();

  std::chrono::milliseconds timeout_;
  Clock::time_point until_;
  NamelessFile input_, secret_, output_, errors_;
  pid_t pid_ = -1;  // of the leader of a process group of its own; -1: none
};

void RunningCommand::Running::spawn(const sigset_t& mask) {
  constexpr int kSecret = 3;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input_.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors_.descriptor(), STDERR_FILENO);
  if (!command.secret.empty()) {
    posix_spawn_file_actions_adddup2(&files, secret_.descriptor(), kSecret);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &mask);
  std::vector<std::string> words = command.words;
  if (words.empty()) {
    words = {"/bin/sh", "-c", command.command};
  }
  const int error = posix_spawnp(&pid_, words.front().c_str(), &files, &attributes,
                                 launch::argument_pointers(words).data(), environ);
  if (error == 0) {
    replace_group(0, pid_);
  } else {
    pid_ = -1;
    command.error = std::string("cannot be started: ") + std::strerror(error);
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
}

void RunningCommand::Running::kill_all() {
  if (pid_ >= 0) {
    // A ringside among them ends what it has started by itself.
    kill(-pid_, SIGTERM);
    siginfo_t ended{};
    for (int i = 0; i < 250 && ended.si_pid == 0; ++i) {
      nanosleep(&kPause, nullptr);
      waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    replace_group(std::exchange(pid_, -1), 0);
  }
}

bool RunningCommand::Running::has_ended() {
  constexpr std::size_t kMostOutput_bytes = std::size_t{64} << 20;
  constexpr std::size_t kMostErrors_bytes = 4096;
  int status = 0;
  if (pid_ < 0) {
    return true;
  }
  if (waitpid(pid_, &status, WNOHANG) == 0) {
    const bool is_in_time = Clock::now() < until_;
    if (is_in_time && output_.size() <= kMostOutput_bytes) {
      return false;
    }
    kill_all();
    if (!is_in_time) {
      command.is_late = true;
      command.error = "has not answered within " +
                      report::fixed(static_cast<double>(timeout_.count()) / 1000, 1) + " s";
      return true;
    }
  } else {
    replace_group(std::exchange(pid_, -1), 0);
  }
  command.errors = errors_.take(kMostErrors_bytes);
  command.error = output_.size() > kMostOutput_bytes ? "has answered more than 64 MiB"
                                                     : failure_of(status, command.errors);
  command.output = output_.take(kMostOutput_bytes);
  return true;
}

RunningCommand::RunningCommand(HostCommand command, std::chrono::milliseconds timeout)
    : running_(std::make_unique<Running>(std::move(command), timeout)) {}

RunningCommand::RunningCommand(RunningCommand&& other) noexcept = default;
RunningCommand& RunningCommand::operator=(RunningCommand&& other) noexcept = default;
RunningCommand::~RunningCommand() = default;

bool RunningCommand::has_ended() {
  return running_->has_ended();
}

HostCommand& RunningCommand::command() {
  return running_->command;
}

void run_all(std::vector<HostCommand>& commands, std::size_t most_at_once,
             std::chrono::milliseconds timeout, const std::stop_token& stop) {
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

void end_running_commands() noexcept {
  for (const std::atomic<pid_t>& group : g_groups) {
    if (const pid_t pid = group.load(); pid > 0) {
      kill(-pid, SIGTERM);
    }
  }
}

void end_commands_with_this_process() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      now.sa_handler = end_commands_and_this;
      now.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
      sigaction(signal, &now, nullptr);
    }
  }
}

}  // namespace ringside::live
