// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/trace_snapshot.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

#include "plugin/export/gzip.h"

namespace ringside::exporting {
namespace {

constexpr std::size_t kBlock_bytes = std::size_t{1} << 20;

bool copy_plain(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace,
                const std::function<bool()>& is_wanted) {
  std::vector<char> block(kBlock_bytes);
  while (from < to) {
    if (!is_wanted()) {
      errno = ECANCELED;
      return false;
    }
    const std::size_t want = std::min<std::uint64_t>(block.size(), to - from);
    const ssize_t got = pread(file, block.data(), want, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      errno = got == 0 ? EIO : errno;
      return false;
    }
    trace.add({block.data(), static_cast<std::size_t>(got)}, {});
    from += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

TracePart::~TracePart() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

bool TracePart::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  const bool ok = is_compressed_ ? copy_gzip_part(file_, from_, to_, trace, is_wanted)
                                 : copy_plain(file_, from_, to_, trace, is_wanted);
  return ok && trace.flush();
}

bool TraceSnapshot::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  trace.add(head, {});
  for (const TracePart& part : parts) {
    if (!part.copy_to(trace, is_wanted)) {
      return false;
    }
  }
  for (std::size_t at = 0; at < tail.size(); at += kBlock_bytes) {
    if (!is_wanted()) {
      errno = ECANCELED;
      return false;
    }
    trace.add(std::string_view(tail).substr(at, kBlock_bytes), {});
  }
  return trace.flush_whole();
}

}  // namespace ringside::exporting
