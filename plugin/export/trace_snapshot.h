// SPDX-License-Identifier: Apache-2.0
//
// A trace as it was at one moment. The drain thread passes it to the thread that writes dumps,
// which needs nothing else. Meanwhile the trace may go on and delete its older files.
#ifndef RINGSIDE_PLUGIN_EXPORT_TRACE_SNAPSHOT_H
#define RINGSIDE_PLUGIN_EXPORT_TRACE_SNAPSHOT_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/export/trace_file.h"
#include "plugin/result/result.h"

namespace ringside::exporting {

/// A range of bytes, whole lines, in a file that is held open.
class TracePart {
 public:
  /// Owns the descriptor from now on. With `is_compressed`, `from` and `to` are offsets in the
  /// decompressed text.
  TracePart(int file, std::uint64_t from, std::uint64_t to, bool is_compressed) noexcept
      : file_(file), from_(from), to_(to), is_compressed_(is_compressed) {}
  TracePart(TracePart&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        from_(other.from_),
        to_(other.to_),
        is_compressed_(other.is_compressed_) {}
  TracePart& operator=(TracePart&&) = delete;
  ~TracePart();

  /// Adds the lines to a trace. Fails with ECANCELED once `is_wanted` returns false, with EIO if
  /// the file is shorter than the range, else with the error of the read or the write.
  Result copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;

 private:
  int file_;
  std::uint64_t from_, to_;
  bool is_compressed_;
};

struct TraceSnapshot {
  std::string head;              ///< the first lines
  std::vector<TracePart> parts;  ///< the lines in the trace's files, in order
  std::string tail;              ///< the lines of operations in flight, and the last lines

  /// As TracePart::copy_to().
  Result copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_TRACE_SNAPSHOT_H
