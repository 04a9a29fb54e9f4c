// SPDX-License-Identifier: Apache-2.0
//
// The names of the slices of a merged file, and who called their operations. In a trace a slice has
// the name of its row.
#ifndef RINGSIDE_ANALYZER_MERGE_SLICE_NAMES_H
#define RINGSIDE_ANALYZER_MERGE_SLICE_NAMES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/merge/line.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

class SliceNames {
 public:
  SliceNames(const model::Traces& traces, const model::TraceFile& file)
      : traces_(traces), file_(file), has_callers_(file.operations.may_have_callers()) {}

  /// Returns "AllReduce 1 MiB #21", "send 512 KiB to 3"; the line's own name where it says no more.
  /// Valid until the next call.
  std::string_view name_of(const EventLine& line);
  /// Returns who called the line's operation, as members of its arguments, each with a comma before
  /// it; nothing if that is not known.
  std::string caller_of(const EventLine& line);
  /// Returns the context of the line's operation; nothing if that is not known.
  std::optional<std::uint32_t> context_of(const EventLine& line);
  /// Returns the name of the row of a line that is no operation: of a transfer with its peer, "from
  /// rank 1, channel 0".
  static std::string row_of(const EventLine& line);

 private:
  // The index of the line's operation.
  std::optional<std::size_t> find(const EventLine& line);
  void append_size(std::optional<std::int64_t> bytes);
  void append_number(std::string_view before, std::optional<std::int64_t> number);
  void append_kernel(const EventLine& line);

  const model::Traces& traces_;
  const model::TraceFile& file_;
  const bool has_callers_;
  std::vector<std::pair<std::uint64_t, std::size_t>> operations_;  // id, index; once asked for
  std::string name_;                                               // as it is put together
  std::map<std::int64_t, std::string> sizes_;                      // texts, by bytes
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_SLICE_NAMES_H
