// SPDX-License-Identifier: Apache-2.0
//
// Descriptors and files of the plugin, in a process that has its own. A process that runs without
// standard input, output or error gives their numbers to the next files that it opens: if one of
// ours had such a number, also for a moment only, what another thread prints would go into it. And
// a program may close descriptors that are not its own, as daemons do: the number then belongs to a
// file of the program, in which nothing must be written.
#ifndef RINGSIDE_PLUGIN_POSIX_DESCRIPTORS_H
#define RINGSIDE_PLUGIN_POSIX_DESCRIPTORS_H

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/posix/undisturbed.h"

namespace ringside::posix {

/// Gives standard numbers that are free to descriptors that can be neither read nor written
/// (O_PATH), so that reading and printing fail with EBADF as before. They stay: to close one might
/// close what another thread has just put there. exec closes them.
inline void take_standard_numbers() noexcept {
  for (int number = 0; number <= STDERR_FILENO; ++number) {
    if (fcntl(number, F_GETFD) < 0) {
      const int taken = open("/dev/null", O_PATH | O_CLOEXEC);
      if (taken > STDERR_FILENO) {
        close(taken);  // another thread was faster
      }
    }
  }
}

/// Calls `open`, which returns a new descriptor that exec closes, or -1 with errno. The one that is
/// returned is none of the three standard ones.
template <typename Open>
int own_descriptor(Open open) noexcept {
  take_standard_numbers();
  const int file = open();
  if (file < 0 || file > STDERR_FILENO) {
    return file;
  }
  // There is no /dev/null, or another thread has closed a standard stream just now.
  const int own = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(file);
  errno = error;
  return own;
}

/// Returns a copy of a descriptor as above.
inline int own_copy(int file) noexcept {
  return fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/// The path of a file in a directory, without an allocation. One too long is cut, and names none.
class PathIn {
 public:
  PathIn(std::string_view directory, std::string_view name) noexcept {
    std::size_t bytes = 0;
    for (const std::string_view part : {directory, std::string_view("/"), name}) {
      bytes += part.copy(&text_[bytes], text_.size() - 1 - bytes);
    }
  }
  const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, PATH_MAX + 1> text_{};
};

/// Reads the first bytes of a file of the kernel into `bytes`. Returns them; empty if it cannot be
/// read.
inline std::string_view read_begin(const char* path, std::span<char> bytes) noexcept {
  const int file = own_descriptor([=] { return open(path, O_RDONLY | O_CLOEXEC); });
  const ssize_t size = file >= 0 ? read(file, bytes.data(), bytes.size()) : 0;
  if (file >= 0) {
    close(file);
  }
  return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Which file it is, whatever its name or number.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int descriptor) noexcept {
    struct stat found {};
    if (descriptor >= 0 && fstat(descriptor, &found) == 0) {
      device_ = found.st_dev;
      inode_ = found.st_ino;
    }
  }

  bool is_of(const struct stat& found) const noexcept {
    return found.st_dev == device_ && found.st_ino == inode_;
  }
  bool is_of(int descriptor) const noexcept {
    struct stat found {};
    return descriptor >= 0 && fstat(descriptor, &found) == 0 && is_of(found);
  }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Allocates the first `bytes` of a file, as all files in memory are before anybody writes to them:
/// otherwise a store could find the file system full, which raises SIGBUS. Returns 0 or an error
/// number, and raises no signal. A signal makes the kernel undo the whole allocation, so a process
/// that gets a thousand signals a second, as under a sampling profiler, would never get many
/// megabytes. Signals therefore wait for these milliseconds. An allocation that is interrupted all
/// the same (by a debugger, or in a frozen container) is tried again.
inline int allocate_file(int file, std::uint64_t bytes) noexcept {
  const SilentCalls silent;
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  }
  return error;
}

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_DESCRIPTORS_H
