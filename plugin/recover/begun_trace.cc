// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/begun_trace.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "plugin/export/gzip.h"

namespace ringside::recover {

BegunTrace::BegunTrace(const std::string& path, const std::string& begin, uid_t owner) {
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  file_ = exporting::OpenFile(begin.empty() ? -1 : open(path.c_str(), kHow));
  struct stat about {};
  if (!file_.is_open() || fstat(file_.descriptor(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_uid != owner) {
    return;
  }
  bytes_ = static_cast<std::uint64_t>(about.st_size);
  exporting::TextReader reader(file_.descriptor());
  std::string found(begin.size(), '\0');
  std::size_t got = 0;
  is_there_ = reader.read(found.data(), found.size(), got).is_ok() &&
              begin.starts_with(std::string_view(found).substr(0, got));
}

Result BegunTrace::copy_to(exporting::TraceFile& out, std::uint64_t bytes,
                           std::uint64_t& copied) const {
  exporting::TextReader reader(file_.descriptor());
  std::vector<char> block(std::size_t{1} << 20);
  std::size_t have = 0;  // the begin of a line that goes on
  copied = 0;
  while (copied + have < bytes) {
    const std::uint64_t want = std::min(block.size() - have, bytes - copied - have);
    std::size_t got = 0;
    if (Result read = reader.read(block.data() + have, want, got); !read.is_ok() || got == 0) {
      return read;
    }
    const std::string_view text(block.data(), have + got);
    const std::size_t end = text.rfind('\n') + 1;  // 0: there is none
    if (end == 0 && text.size() == block.size()) {
      return {};  // no line is that long: the rest is not a whole line
    }
    out.add(text.substr(0, end), {});
    copied += end;
    have = text.size() - end;
    std::memmove(block.data(), block.data() + end, have);
  }
  return {};
}

}  // namespace ringside::recover
