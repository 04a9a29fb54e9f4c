// SPDX-License-Identifier: Apache-2.0
//
// A process that was started without standard input, output or error gives their numbers to the
// next files that it opens. If one of our files had such a number, everything that is printed would
// go into it.
#ifndef RINGSIDE_PLUGIN_POSIX_OWN_DESCRIPTOR_H
#define RINGSIDE_PLUGIN_POSIX_OWN_DESCRIPTOR_H

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace ringside::posix {

/// Moves a file to a descriptor above the three standard ones, which exec closes. The old
/// descriptor is closed. Returns -1 with errno if that fails. A `file` of -1 is returned as it is.
inline int own_descriptor(int file) noexcept {
  if (file < 0 || file > STDERR_FILENO) {
    return file;
  }
  const int own = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(file);
  errno = error;
  return own;
}

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_OWN_DESCRIPTOR_H
