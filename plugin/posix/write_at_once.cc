// SPDX-License-Identifier: Apache-2.0
#include "plugin/posix/write_at_once.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/posix/held_signals.h"
#include "plugin/posix/own_descriptor.h"

namespace ringside::posix {
namespace {

template <typename Call>
std::size_t written(Call call) noexcept {
  ssize_t size = -1;
  do {
    size = call();
  } while (size < 0 && errno == EINTR);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

// The same pipe or terminal, opened once more: O_NONBLOCK belongs to the opening, and the
// application shares the one behind `file`.
int open_again(int file) noexcept {
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", file);
  return own_descriptor(
      [&] { return open(path.data(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
}

bool has_room(int file) noexcept {
  pollfd room{file, POLLOUT, 0};
  return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

}  // namespace

std::size_t write_at_once(int file, std::string_view bytes) noexcept {
  const SilentCalls silent;
  bytes = bytes.substr(0, kMostAtOnce_bytes);
  const auto write_to = [&](int target) {
    return written([&] { return write(target, bytes.data(), bytes.size()); });
  };
  struct stat about {};
  if (fstat(file, &about) != 0) {
    return 0;
  }
  if (S_ISREG(about.st_mode)) {
    return write_to(file);
  }
  if (S_ISSOCK(about.st_mode)) {
    return written(
        [&] { return send(file, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
  }
  if (const int own = open_again(file); own >= 0) {
    const std::size_t size = write_to(own);
    close(own);
    return size;
  }
  if (errno == ENXIO) {
    return 0;  // a pipe that nobody reads
  }
  // It may not be opened: without /proc, or if the process has become another user. Only here may
  // another writer take the room between the question and the write.
  return has_room(file) ? write_to(file) : 0;
}

}  // namespace ringside::posix
