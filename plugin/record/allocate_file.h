// SPDX-License-Identifier: Apache-2.0
//
// Files in memory are allocated whole before anybody writes there, so that no store meets a full
// file system, which would be SIGBUS.
#ifndef RINGSIDE_PLUGIN_RECORD_ALLOCATE_FILE_H
#define RINGSIDE_PLUGIN_RECORD_ALLOCATE_FILE_H

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <pthread.h>

namespace ringside::record {

/// Allocates the first bytes of a file. 0, or an error number. The kernel gives an allocation up,
/// whole, when a signal comes: an application whose profiler sends itself a thousand signals a
/// second would never get many megabytes. So they wait for these milliseconds, and what comes all
/// the same (a debugger, a frozen container) is tried again.
inline int allocate_file(int file, std::uint64_t bytes) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_ALLOCATE_FILE_H
