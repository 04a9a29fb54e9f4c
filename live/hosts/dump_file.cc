// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/dump_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/report/document/numbers.h"

namespace ringside::live {

int open_dump(const std::string& path, uid_t owner, std::string& reason) {
  struct stat about {};
  // Without O_NONBLOCK a FIFO waits here for somebody who writes.
  const int dump = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  reason = dump < 0 && errno == ELOOP             ? "it is a link"
           : dump < 0 || fstat(dump, &about) != 0 ? std::strerror(errno)
           : !S_ISREG(about.st_mode)              ? "it is no regular file"
           : about.st_uid != owner                ? "it is another user's than the process"
                                                  : "";
  if (dump >= 0 && !reason.empty()) {
    close(dump);
  }
  return reason.empty() ? dump : -1;
}

std::string read_dump(const std::string& path, uid_t owner, std::string& reason) {
  constexpr std::size_t kMost_bytes = std::size_t{200} << 20;
  const int dump = open_dump(path, owner, reason);
  if (dump < 0) {
    return {};
  }
  struct stat about {};
  std::string bytes;
  if (fstat(dump, &about) != 0) {
    reason = std::strerror(errno);
  } else if (static_cast<std::uint64_t>(about.st_size) > kMost_bytes) {
    reason = "it has " + report::human_bytes(static_cast<std::uint64_t>(about.st_size)) +
             ", and at most 200 MiB are copied";
  } else {
    bytes.resize(static_cast<std::size_t>(about.st_size));
    std::size_t size = 0;
    ssize_t got = 0;
    while (size < bytes.size() && (got = pread(dump, bytes.data() + size, bytes.size() - size,
                                               static_cast<off_t>(size))) > 0) {
      size += static_cast<std::size_t>(got);
    }
    reason = size == bytes.size() ? "" : "it cannot be read";
  }
  close(dump);
  return reason.empty() ? bytes : std::string();
}

}  // namespace ringside::live
