// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/job_watch.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "analyzer/cli/launch.h"
#include "launch/text.h"

namespace ringside::cli {

JobWatch::JobWatch(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ringside");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // Standard input belongs to the command.
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Ctrl-C is meant for the command: the watch ends with it, and not before.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawn(&pid_, "/proc/self/exe", &files, &attributes,
                                launch::argument_pointers(arguments).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    pid_ = -1;
    print_launch_notes("run", {std::string("--watch: not started: ") + std::strerror(error)});
  }
}

JobWatch::~JobWatch() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kLook(4);
  constexpr std::chrono::seconds kMost(5);
  constexpr std::chrono::milliseconds kPause(20);
  if (pid_ < 0) {
    return;
  }
  kill(pid_, SIGTERM);
  const Clock::time_point begin = Clock::now();
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (Clock::now() >= begin + kLook) {
      kill(pid_, SIGINT);  // ends its commands to other hosts, too
    }
    if (Clock::now() >= begin + kMost) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace ringside::cli
