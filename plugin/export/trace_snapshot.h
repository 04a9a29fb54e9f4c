// SPDX-License-Identifier: Apache-2.0
//
// A trace as it was at one moment: what the drain thread hands to the thread that writes dumps, and
// all that is needed to write it. The trace may go on, and delete its older files, meanwhile.
#ifndef RINGSIDE_PLUGIN_EXPORT_TRACE_SNAPSHOT_H
#define RINGSIDE_PLUGIN_EXPORT_TRACE_SNAPSHOT_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/export/trace_file.h"

namespace ringside::exporting {

/// Lines in a file that is held open.
class TracePart {
 public:
  /// Takes the descriptor. `is_compressed`: from and to count what is compressed in it.
  TracePart(int file, std::uint64_t from, std::uint64_t to, bool is_compressed) noexcept
      : file_(file), from_(from), to_(to), is_compressed_(is_compressed) {}
  TracePart(TracePart&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        from_(other.from_),
        to_(other.to_),
        is_compressed_(other.is_compressed_) {}
  TracePart& operator=(TracePart&&) = delete;
  ~TracePart();

  /// Adds the lines to a trace, for as long as `is_wanted` says so. False on error, with errno:
  /// ECANCELED if it is not wanted any more.
  bool copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;

 private:
  int file_;
  std::uint64_t from_, to_;
  bool is_compressed_;
};

struct TraceSnapshot {
  std::string head;              ///< the first lines
  std::vector<TracePart> parts;  ///< what is in the trace's files, in order
  std::string tail;              ///< what is in flight, and the end

  /// As TracePart::copy_to.
  bool copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_TRACE_SNAPSHOT_H
