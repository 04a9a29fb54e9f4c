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

/// A range of the text, whole lines, of a file that is held open.
class TracePart {
 public:
  TracePart(OpenFile file, std::uint64_t from, std::uint64_t to) noexcept
      : file_(std::move(file)), from_(from), to_(to) {}

  /// Adds the lines to a trace. Fails with ECANCELED once `is_wanted` returns false, with EIO if
  /// the file is shorter than the range, else with the error of the read or the write.
  Result copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;

 private:
  OpenFile file_;
  std::uint64_t from_, to_;
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
