// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/record/own_descriptor.h"

namespace ringside::control {
namespace {

// In one piece, so that lines of several processes do not mix. A line that cannot be written is
// lost.
void write_line(int file, std::string_view line) {
  while (write(file, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

// -1, and errno. The file is made private to the user; neither a link nor another user's file is
// taken, who would read along or has put it there. Nor is a pipe: one that nobody reads would hold
// up the application, one that nobody reads any more would end it by SIGPIPE.
int open_log(const std::string& path) {
  const int file = record::own_descriptor(open(
      path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  struct stat about {};
  const bool is_fit =
      file >= 0 && fstat(file, &about) == 0 &&
      (S_ISCHR(about.st_mode) || (S_ISREG(about.st_mode) && about.st_uid == geteuid()));
  if (file >= 0 && !is_fit) {
    close(file);
    errno = EPERM;
    return -1;
  }
  return file;
}

}  // namespace

Log::Log(const std::string& target) {
  if (target == "stderr") {
    return;
  }
  if (const int file = open_log(target); file >= 0) {
    file_ = file;
    return;
  }
  warn("RINGSIDE_LOG=" + target + " cannot be written (" + std::strerror(errno) +
       "); messages go to stderr instead");
}

Log::~Log() {
  if (file_ != STDERR_FILENO) {
    close(file_);
  }
}

// No lock: in the child of a fork it might be held for ever.
void Log::write(const char* level, std::string_view message) noexcept {
  try {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm local{};
    localtime_r(&now.tv_sec, &local);
    std::array<char, 80> head;
    const std::size_t size = std::strftime(head.data(), head.size(), "%Y-%m-%d %H:%M:%S", &local);
    std::snprintf(head.data() + size, head.size() - size,
                  ".%03d ringside[%d] %s: ", static_cast<int>(now.tv_nsec / 1'000'000),
                  static_cast<int>(getpid()), level);
    write_line(file_, std::string(head.data()).append(message).append("\n"));
  } catch (const std::bad_alloc&) {
  }
}

void Log::warn_plainly(const char* message) noexcept {
  std::array<char, 512> line;
  const int size = std::snprintf(line.data(), line.size(), "ringside[%d] warning: %s\n",
                                 static_cast<int>(getpid()), message);
  const auto most = static_cast<int>(line.size()) - 1;
  write_line(file_, {line.data(), static_cast<std::size_t>(std::clamp(size, 0, most))});
}

}  // namespace ringside::control
