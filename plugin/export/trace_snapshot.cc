// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/trace_snapshot.h"

#include <algorithm>
#include <cerrno>

#include "plugin/export/gzip.h"

namespace ringside::exporting {
namespace {

constexpr std::size_t kBlock_bytes = std::size_t{1} << 20;

}  // namespace

Result TracePart::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  TextReader reader(file_.descriptor());
  if (Result skipped = reader.skip(from_); !skipped.is_ok()) {
    return skipped;
  }
  std::vector<char> block(kBlock_bytes);
  for (std::uint64_t left = to_ - from_; left > 0;) {
    if (!is_wanted()) {
      return Result(ECANCELED);
    }
    std::size_t got = 0;
    Result read = reader.read(block.data(), std::min<std::uint64_t>(block.size(), left), got);
    if (!read.is_ok() || got == 0) {
      return read.is_ok() ? Result(EIO) : read;
    }
    trace.add({block.data(), got}, {});
    left -= got;
  }
  return trace.flush();
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
