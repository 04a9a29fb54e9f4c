// SPDX-License-Identifier: Apache-2.0
//
// A process that runs without standard input, output or error gives their numbers to the next files
// that it opens. If one of our files had such a number, also for a moment only, what another thread
// prints would go into it.
#ifndef RINGSIDE_PLUGIN_POSIX_OWN_DESCRIPTOR_H
#define RINGSIDE_PLUGIN_POSIX_OWN_DESCRIPTOR_H

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <unistd.h>

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

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_OWN_DESCRIPTOR_H
