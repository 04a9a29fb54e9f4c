// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it is a slow file system: each write to a file below the
// directory SLOW_WRITE_IN takes SLOW_WRITE_MS milliseconds more.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <unistd.h>

namespace {

void wait_if_slow(int file) {
  const char* const directory = std::getenv("SLOW_WRITE_IN");
  const char* const text = std::getenv("SLOW_WRITE_MS");
  if (directory == nullptr || text == nullptr) {
    return;
  }
  std::array<char, 64> link;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  std::array<char, 4096> path;
  const ssize_t size = readlink(link.data(), path.data(), path.size() - 1);
  const std::size_t prefix = std::strlen(directory);
  if (size > static_cast<ssize_t>(prefix) && std::strncmp(path.data(), directory, prefix) == 0) {
    const long milliseconds = std::atol(text);
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    nanosleep(&time, nullptr);
  }
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
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  return real(file, data, size, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int file, const void* data,
                                                        std::size_t size, off64_t offset) {
  wait_if_slow(file);
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off64_t)>("pwrite64");
  return real(file, data, size, offset);
}
}
