// SPDX-License-Identifier: Apache-2.0
//
// Files in memory are allocated whole before anybody writes to them. Otherwise a store could find
// the file system full, which raises SIGBUS.
#ifndef RINGSIDE_PLUGIN_POSIX_ALLOCATE_FILE_H
#define RINGSIDE_PLUGIN_POSIX_ALLOCATE_FILE_H

#include <cerrno>
#include <cstdint>
#include <fcntl.h>

#include "plugin/posix/held_signals.h"

namespace ringside::posix {

/// Allocates the first `bytes` of a file. Returns 0 or an error number, and raises no signal. A
/// signal makes the kernel undo the whole allocation, so a process that gets a thousand signals a
/// second, as under a sampling profiler, would never get many megabytes. Signals therefore wait for
/// these milliseconds. An allocation that is interrupted all the same (by a debugger, or in a
/// frozen container) is tried again.
inline int allocate_file(int file, std::uint64_t bytes) noexcept {
  const SilentCalls silent;
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  }
  return error;
}

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_ALLOCATE_FILE_H
