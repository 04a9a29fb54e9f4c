// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/running_command.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "launch/text.h"

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

// The process groups of commands that run, for a signal handler. A command beyond so many runs all
// the same, and ends by its time limit.
std::array<std::atomic<pid_t>, 4096> g_groups{};

constexpr char kTooLong[] = "has answered more than 64 MiB";

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

// The input of a command, which reads it while nobody waits.
class NamelessFile {
 public:
  NamelessFile() : descriptor_(memfd_create("ringside", MFD_CLOEXEC)) {}
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }

  int descriptor() const { return descriptor_; }

  bool fill(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }

 private:
  int descriptor_;
};

}  // namespace

RunningCommand::RunningCommand(HostCommand command, std::chrono::milliseconds timeout)
    : command_(std::move(command)), timeout_(timeout), until_(Clock::now() + timeout) {
  command_.output.clear();
  command_.error.clear();
  command_.is_late = false;
  start();
}

RunningCommand::RunningCommand(RunningCommand&& other) noexcept
    : command_(std::move(other.command_)),
      timeout_(other.timeout_),
      until_(other.until_),
      output_(std::move(other.output_)),
      pid_(std::exchange(other.pid_, -1)) {}

RunningCommand& RunningCommand::operator=(RunningCommand&& other) noexcept {
  std::swap(command_, other.command_);
  std::swap(timeout_, other.timeout_);
  std::swap(until_, other.until_);
  std::swap(output_, other.output_);
  std::swap(pid_, other.pid_);
  return *this;
}

RunningCommand::~RunningCommand() {
  kill_all();
}

void RunningCommand::start() {
  const NamelessFile input;
  const NamelessFile secret;
  if (!input.fill(command_.input) || !secret.fill(command_.secret)) {
    command_.error = std::string("cannot be started: ") + std::strerror(errno);
    return;
  }
  // A signal that ends this process must find the command in the table.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    output_ = std::make_unique<CommandOutput>();
    spawn(input.descriptor(), secret.descriptor(), before);
    output_->close_command_ends();
  } catch (const std::system_error& error) {
    command_.error = std::string("cannot be started: ") + std::strerror(error.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RunningCommand::spawn(int input, int secret, const sigset_t& mask) {
  constexpr int kSecret = 3;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_->output(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_->errors(), STDERR_FILENO);
  if (!command_.secret.empty()) {
    posix_spawn_file_actions_adddup2(&files, secret, kSecret);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &mask);
  std::vector<std::string> words = command_.words;
  if (words.empty()) {
    words = {"/bin/sh", "-c", command_.command};
  }
  const int error = posix_spawnp(&pid_, words.front().c_str(), &files, &attributes,
                                 launch::argument_pointers(words).data(), environ);
  if (error == 0) {
    replace_group(0, pid_);
  } else {
    pid_ = -1;
    command_.error = std::string("cannot be started: ") + std::strerror(error);
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
}

void RunningCommand::kill_all() {
  if (pid_ >= 0) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    replace_group(std::exchange(pid_, -1), 0);
  }
}

bool RunningCommand::has_ended() {
  int status = 0;
  if (pid_ < 0) {
    return true;
  }
  if (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() < until_) {
      return false;
    }
    kill_all();
    command_.is_late = true;
    command_.error = "has not answered within " +
                     report::fixed(static_cast<double>(timeout_.count()) / 1000, 1) + " s";
    return true;
  }
  replace_group(std::exchange(pid_, -1), 0);
  output_->finish();
  command_.output = output_->take_output();
  command_.errors = output_->take_errors();
  command_.error = output_->is_too_long() ? kTooLong : failure_of(status, command_.errors);
  return true;
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
