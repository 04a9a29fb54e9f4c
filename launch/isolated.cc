// SPDX-License-Identifier: Apache-2.0
#include "launch/isolated.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
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

// Reads until the child closes its end, the time is over, or it is too much.
bool read_answer(int file, std::string& text) {
  const auto deadline = Clock::now() + std::chrono::seconds(kMostChild_s);
  std::array<char, 4096> part{};
  while (text.size() < kMostAnswer_bytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{file, POLLIN, 0};
    const int got = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    const ssize_t size = read(file, part.data(), part.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0) {
      return true;
    }
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return true;
}

// `child` has the pipe's end to write to, and its result is the exit status.
Answer ask(const std::function<int(int)>& child) {
  Answer answer;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    answer.error = std::string("no pipe: ") + std::strerror(errno);
    return answer;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    setpgid(0, 0);  // so that what it starts ends with it
    silence();
    // _exit: neither destructors of what was loaded nor our own buffers.
    _exit(child(ends[1]));
  }
  close(ends[1]);
  if (pid < 0) {
    answer.error = std::string("no process: ") + std::strerror(errno);
    close(ends[0]);
    return answer;
  }
  std::string text;
  const bool is_in_time = read_answer(ends[0], text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    answer.lines.push_back(line);
  }
  close(ends[0]);
  if (!is_in_time) {
    kill(-pid, SIGKILL);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_in_time) {
    answer.error = "it did not answer in " + std::to_string(kMostChild_s) + " s";
  } else if (WIFSIGNALED(status)) {
    answer.error = "it crashed (signal " + std::to_string(WTERMSIG(status)) + ")";
  } else if (WEXITSTATUS(status) != 0) {
    answer.error = "it ended with status " + std::to_string(WEXITSTATUS(status));
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
