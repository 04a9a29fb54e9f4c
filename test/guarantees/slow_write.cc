// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it is a file system that is not as others are:
//   SLOW_WRITE_IN    each write to a file below this directory takes SLOW_WRITE_MS milliseconds
//   more NO_WRITE_IN      no write to a file below it takes a byte REFUSED_LATE_IN  there is no
//   room for the first CLOSES files below it that are closed or
//                    stored (fdatasync), which is said only then, as NFS does; they lose their text
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

// Whether the file is below the directory that the variable names.
bool is_below(int file, const char* variable) {
  const char* const directory = std::getenv(variable);
  if (directory == nullptr) {
    return false;
  }
  std::array<char, 64> link;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  std::array<char, 4096> path;
  const ssize_t size = readlink(link.data(), path.data(), path.size() - 1);
  const std::size_t prefix = std::strlen(directory);
  return size > static_cast<ssize_t>(prefix) && std::strncmp(path.data(), directory, prefix) == 0;
}

void wait_if_slow(int file) {
  if (is_below(file, "SLOW_WRITE_IN")) {
    const long milliseconds = std::atol(std::getenv("SLOW_WRITE_MS"));
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    nanosleep(&time, nullptr);
  }
}

bool is_refused_late(int file) {
  static std::atomic<long> refused{0};
  const int error = errno;
  const bool is_written = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if (!is_written || !is_below(file, "REFUSED_LATE_IN") ||
      refused.fetch_add(1) >= std::atol(std::getenv("CLOSES"))) {
    errno = error;
    return false;
  }
  return ftruncate(file, 0) == 0;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t write(int file, const void* data, std::size_t size) {
  wait_if_slow(file);
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return real(file, data, size);
}

__attribute__((visibility("default"))) ssize_t pwrite(int file, const void* data, std::size_t size,
                                                      off_t offset) {
  wait_if_slow(file);
  if (is_below(file, "NO_WRITE_IN")) {
    return 0;
  }
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  return real(file, data, size, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int file, const void* data,
                                                        std::size_t size, off64_t offset) {
  wait_if_slow(file);
  if (is_below(file, "NO_WRITE_IN")) {
    return 0;
  }
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off64_t)>("pwrite64");
  return real(file, data, size, offset);
}

__attribute__((visibility("default"))) int close(int file) {
  static const auto real = next<int (*)(int)>("close");
  const bool is_refused = is_refused_late(file);
  const int result = real(file);
  if (is_refused) {
    errno = EDQUOT;
  }
  return is_refused ? -1 : result;
}

__attribute__((visibility("default"))) int fdatasync(int file) {
  static const auto real = next<int (*)(int)>("fdatasync");
  if (is_refused_late(file)) {
    errno = EDQUOT;
    return -1;
  }
  return real(file);
}
}
