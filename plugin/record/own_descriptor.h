// SPDX-License-Identifier: Apache-2.0
//
// A process that was started without standard input, output or error gives their numbers to the
// files that it opens next. What it prints must not go into ours, nor what we say.
#ifndef RINGSIDE_PLUGIN_RECORD_OWN_DESCRIPTOR_H
#define RINGSIDE_PLUGIN_RECORD_OWN_DESCRIPTOR_H

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace ringside::record {

/// The same file by a number that is not a standard one's, closed by exec; the old one is closed.
/// -1, with errno, if there is none; -1 stays -1.
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

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_OWN_DESCRIPTOR_H
