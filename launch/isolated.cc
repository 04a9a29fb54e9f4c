// SPDX-License-Identifier: Apache-2.0
#include "launch/isolated.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/files.h"
#include "launch/text.h"

namespace ringside::launch {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostAnswer_bytes = 64U << 10;

// Libraries and Python print; that is not the answer.
void silence() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(nothing, stream);
  }
}

// What `child` writes to the file that it gets is the answer, its result is the exit status.
Answer ask(const std::function<int(int)>& child) {
  constexpr timespec kPause{0, 2'000'000};
  Answer answer;
  const int file = memfd_create("ringside", MFD_CLOEXEC);
  const pid_t pid = file < 0 ? -1 : fork();
  if (pid == 0) {
    setpgid(0, 0);  // so that what it starts ends with it
    silence();
    // _exit: neither destructors of what was loaded nor our own buffers.
    _exit(child(file));
  }
  if (pid < 0) {
    answer.error = std::string("no process: ") + std::strerror(errno);
    close(file);
    return answer;
  }
  const auto deadline = Clock::now() + std::chrono::seconds(kMostChild_s);
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && Clock::now() < deadline) {
    nanosleep(&kPause, nullptr);
  }
  if (ended == 0) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    answer.error = "it did not answer in " + std::to_string(kMostChild_s) + " s";
  } else if (WIFSIGNALED(status)) {
    answer.error = "it crashed (signal " + std::to_string(WTERMSIG(status)) + ")";
  } else if (WEXITSTATUS(status) != 0) {
    answer.error = "it ended with status " + std::to_string(WEXITSTATUS(status));
  }
  std::string text(kMostAnswer_bytes, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  close(file);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    answer.lines.push_back(line);
  }
  return answer;
}

}  // namespace

Answer ask_child(const std::function<std::vector<std::string>()>& work) {
  return ask([&work](int file) {
    for (const std::string& line : work()) {
      write_whole(file, line + '\n');
    }
    return 0;
  });
}

Answer ask_program(const std::vector<std::string>& command) {
  return ask([&command](int file) {
    dup2(file, STDOUT_FILENO);
    execvp(command.front().c_str(), argument_pointers(command).data());
    return 127;
  });
}

}  // namespace ringside::launch
