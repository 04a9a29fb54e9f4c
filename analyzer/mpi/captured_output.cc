// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/captured_output.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace ringside::mpi {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return true;
}

bool copy(int from, int to) {
  std::array<char, 1 << 16> bytes;
  for (off_t offset = 0;;) {
    const ssize_t got = ::pread(from, bytes.data(), bytes.size(), offset);
    if (got <= 0) {
      return got == 0;
    }
    if (!write_all(to, {bytes.data(), static_cast<std::size_t>(got)})) {
      return false;
    }
    offset += got;
  }
}

}  // namespace

CapturedOutput::CapturedOutput()
    : stdout_(::dup(STDOUT_FILENO)), memory_(::memfd_create("stdout", MFD_CLOEXEC)) {
  if (stdout_ < 0 || memory_ < 0 || ::dup2(memory_, STDOUT_FILENO) < 0) {
    throw std::system_error(errno, std::generic_category(), "stdout cannot be kept in memory");
  }
}

CapturedOutput::~CapturedOutput() {
  ::close(stdout_);
  ::close(memory_);
}

bool CapturedOutput::release() {
  std::fflush(stdout);
  if (copy(memory_, stdout_)) {
    return true;
  }
  std::fprintf(stderr, "ringside: cannot write to standard output: %s\n", std::strerror(errno));
  return false;
}

}  // namespace ringside::mpi
