// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/trace_snapshot.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

#include "plugin/export/gzip.h"

namespace ringside::exporting {
namespace {

constexpr std::size_t kBlock_bytes = std::size_t{1} << 20;

Result copy_plain(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace,
                  const std::function<bool()>& is_wanted) {
  std::vector<char> block(kBlock_bytes);
  while (from < to) {
    if (!is_wanted()) {
      return Result(ECANCELED);
    }
    const std::size_t want = std::min<std::uint64_t>(block.size(), to - from);
    const ssize_t got = pread(file, block.data(), want, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return Result(got == 0 ? EIO : errno);
    }
    trace.add({block.data(), static_cast<std::size_t>(got)}, {});
    from += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

TracePart::~TracePart() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

Result TracePart::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  Result copied = is_compressed_ ? copy_gzip_part(file_, from_, to_, trace, is_wanted)
                                 : copy_plain(file_, from_, to_, trace, is_wanted);
  return copied.is_ok() ? trace.flush() : copied;
}

Result TraceSnapshot::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  trace.add(head, {});
  for (const TracePart& part : parts) {
    if (Result copied = part.copy_to(trace, is_wanted); !copied.is_ok()) {
      return copied;
    }
  }
  for (std::size_t at = 0; at < tail.size(); at += kBlock_bytes) {
    if (!is_wanted()) {
      return Result(ECANCELED);
    }
    trace.add(std::string_view(tail).substr(at, kBlock_bytes), {});
  }
  return trace.flush_whole();
}

}  // namespace ringside::exporting
