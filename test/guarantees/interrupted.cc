// SPDX-License-Identifier: Apache-2.0
//
// Preloaded, has each allocation of a file interrupted by a signal once, as kernels before 6.18 do
// it on tmpfs.
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int posix_fallocate(int file, off_t offset, off_t bytes) {
  static std::atomic<int> last{-1};
  if (last.exchange(file) != file) {
    return EINTR;
  }
  last = -1;
  return syscall(SYS_fallocate, file, 0, offset, bytes) == 0 ? 0 : errno;
}
