// SPDX-License-Identifier: Apache-2.0
#include "live/host_commands.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "analyzer/report/numbers.h"
#include "launch/text.h"

extern char** environ;

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

// A file without a name: what a command reads, or writes, as fast as it likes, while nobody waits.
class NamelessFile {
 public:
  NamelessFile() : descriptor_(memfd_create("ringside", MFD_CLOEXEC)) {}
  NamelessFile(NamelessFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  NamelessFile& operator=(NamelessFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
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

  std::string text(std::size_t most_bytes) const {
    std::string made;
    std::array<char, 65536> part;
    while (made.size() < most_bytes) {
      const ssize_t got =
          pread(descriptor_, part.data(), part.size(), static_cast<off_t>(made.size()));
      if (got <= 0) {
        break;
      }
      made.append(part.data(), static_cast<std::size_t>(got));
    }
    return made;
  }

 private:
  int descriptor_;
};

// A command on its way. Its process leads a group of its own, so that all of it can be ended.
struct Running {
  HostCommand* command = nullptr;
  Clock::time_point until;
  NamelessFile output, errors;
  pid_t pid = -1;
};

void start(Running& running) {
  HostCommand& command = *running.command;
  const NamelessFile input;
  if (!input.fill(command.input)) {
    command.error = std::string("cannot be started: ") + std::strerror(errno);
    return;
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, running.output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, running.errors.descriptor(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string shell = "sh";
  std::string option = "-c";
  char* const words[] = {shell.data(), option.data(), command.command.data(), nullptr};
  const int error = posix_spawn(&running.pid, "/bin/sh", &files, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    running.pid = -1;
    command.error = std::string("cannot be started: ") + std::strerror(error);
  }
}

// How the command ended, unless it did well, with the last line that it wrote to standard error.
std::string failure_of(int status, const NamelessFile& errors) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  std::string text = WIFSIGNALED(status)
                         ? "was killed by signal " + std::to_string(WTERMSIG(status))
                         : "ended with status " + std::to_string(WEXITSTATUS(status));
  constexpr std::size_t kMost_bytes = 4096;
  std::string said = errors.text(kMost_bytes);
  said.erase(said.find_last_not_of(" \r\n") + 1);
  said.erase(0, said.rfind('\n') + 1);
  return said.empty() ? text : text + ": " + launch::printable(said);
}

// True once it has ended, by itself or because its time is over.
bool has_ended(Running& running, std::chrono::milliseconds timeout) {
  HostCommand& command = *running.command;
  constexpr std::size_t kMost_bytes = std::size_t{64} << 20;
  int status = 0;
  if (running.pid < 0) {
    return true;
  }
  if (waitpid(running.pid, &status, WNOHANG) == 0) {
    if (Clock::now() < running.until) {
      return false;
    }
    kill(-running.pid, SIGKILL);
    waitpid(running.pid, &status, 0);
    command.error = "has not answered within " +
                    report::fixed(static_cast<double>(timeout.count()) / 1000, 1) + " s";
    return true;
  }
  command.output = running.output.text(kMost_bytes);
  command.error = failure_of(status, running.errors);
  return true;
}

}  // namespace

void run_all(std::vector<HostCommand>& commands, std::size_t most_at_once,
             std::chrono::milliseconds timeout) {
  constexpr timespec kPause{0, 2'000'000};
  std::vector<Running> running;
  std::size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    while (next < commands.size() && running.size() < most_at_once) {
      Running& one = running.emplace_back();
      one.command = &commands[next++];
      one.until = Clock::now() + timeout;
      start(one);
    }
    std::erase_if(running, [&](Running& one) { return has_ended(one, timeout); });
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace ringside::live
