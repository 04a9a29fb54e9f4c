// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/hang_command.h"

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace ringside::doors {

HangCommand::HangCommand(std::string command) : command_(std::move(command)) {
  for (char** variable = command_.empty() ? nullptr : environ;
       variable != nullptr && *variable != nullptr; ++variable) {
    environment_.emplace_back(*variable);
  }
}

Result HangCommand::run(const std::string& dump_path) {
  if (command_.empty()) {
    return {};
  }
  std::vector<std::string> variables = environment_;
  variables.push_back("RINGSIDE_HANG_DUMP=" + dump_path);
  variables.push_back("RINGSIDE_HANG_PID=" + std::to_string(getpid()));
  std::vector<char*> environment;
  environment.reserve(variables.size() + 1);
  for (std::string& variable : variables) {
    environment.push_back(variable.data());
  }
  environment.push_back(nullptr);
  std::string shell = "sh";
  std::string option = "-c";
  char* const arguments[] = {shell.data(), option.data(), command_.data(), nullptr};
  running_.reserve(running_.size() + 1);  // no exception from here on
  // The command reads from /dev/null and writes to stderr, as all of the plugin does. It has none
  // of the other files of the application.
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
  // The drain thread blocks all signals, and the application may ignore some. The command inherits
  // neither.
  posix_spawnattr_t signals;
  posix_spawnattr_init(&signals);
  sigset_t set;
  sigemptyset(&set);
  posix_spawnattr_setsigmask(&signals, &set);
  sigfillset(&set);
  posix_spawnattr_setsigdefault(&signals, &set);
  posix_spawnattr_setflags(&signals, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  Result started(posix_spawn(&pid, "/bin/sh", &files, &signals, arguments, environment.data()));
  posix_spawnattr_destroy(&signals);
  posix_spawn_file_actions_destroy(&files);
  if (started.is_ok()) {
    running_.push_back(pid);
  }
  return started;
}

void HangCommand::reap() {
  // An application that waits for any child may have been faster; then waitpid finds no child.
  std::erase_if(running_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace ringside::doors
