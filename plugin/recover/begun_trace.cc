// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/begun_trace.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace ringside::recover {

BegunTrace::BegunTrace(const std::string& path, const std::string& begin, uid_t owner) {
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  file_ = begin.empty() ? -1 : open(path.c_str(), kHow);
  struct stat about {};
  if (file_ < 0 || fstat(file_, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != owner) {
    return;
  }
  bytes_ = static_cast<std::uint64_t>(about.st_size);
  std::string found(begin.size(), '\0');
  const ssize_t got = pread(file_, found.data(), found.size(), 0);
  found.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  is_there_ = begin.starts_with(found) && (found == begin || bytes_ < begin.size());
}

BegunTrace::~BegunTrace() {
  if (file_ >= 0) {
    close(file_);
  }
}

std::uint64_t BegunTrace::open_end(std::uint64_t bytes) const {
  std::string tail(std::min<std::uint64_t>(bytes, 4096), '\0');
  const auto at = static_cast<off_t>(bytes - tail.size());
  constexpr std::string_view kBracket = "\n]\n";
  if (pread(file_, tail.data(), tail.size(), at) != static_cast<ssize_t>(tail.size()) ||
      !tail.ends_with(kBracket)) {
    return bytes;
  }
  const std::size_t line = tail.rfind('\n', tail.size() - kBracket.size() - 1);
  return line == std::string::npos ? bytes : bytes - (tail.size() - line - 1);
}

Result BegunTrace::copy_to(exporting::TraceFile& out, std::uint64_t bytes,
                           std::uint64_t& copied) const {
  std::string block;
  copied = 0;
  while (copied < bytes) {
    block.resize(std::min<std::uint64_t>(std::uint64_t{1} << 20, bytes - copied));
    const ssize_t got = pread(file_, block.data(), block.size(), static_cast<off_t>(copied));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return Result::of_call(got == 0);
    }
    block.resize(static_cast<std::size_t>(got));
    const std::size_t end = block.rfind('\n');
    if (end == std::string::npos) {
      return {};  // no line is that long: the rest is not a whole line
    }
    out.add(std::string_view(block).substr(0, end + 1), {});
    copied += end + 1;
  }
  return {};
}

}  // namespace ringside::recover
