// SPDX-License-Identifier: Apache-2.0
//
// The content of one stretch of a file, read without knowing what stands before it. Parts are put
// together in the order of the file, with the result of reading it from start to end.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_PART_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_PART_H

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/load/source/line_numbers.h"
#include "analyzer/load/trace/operation_ids.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// The kind of the row of the proxy thread that a "b" line began and no "e" line has ended.
enum class OpenRow : std::uint8_t { kNone, kProxy, kStep };

struct Part {
  model::TraceFile file;        // path is empty; `lines` and `bad_lines` are of the part alone
  model::NameTable names;       // of `file`'s ids
  model::Problems problems;     // line numbers count from the start of the part; no paths
  LineNumbers operation_lines;  // of each operation, likewise
  OperationIds operation_ids;   // of the whole that parts are appended to
  std::set<std::uint32_t> described_contexts;  // that have a line of their own
  std::set<std::uint64_t> started_windows;     // whose start was told
  bool has_account = false;
  bool has_recovered = false;  // whether it was recovered is told
  bool has_rows = false;
  OpenRow open_row = OpenRow::kNone;  // at the end
  /// Its first row line is an "e", so it ends a row of a part before, at this time.
  bool ends_row_before = false;
  std::optional<std::int64_t> row_before_end_ns;
  std::optional<std::string> not_a_trace;  // of the first part: why the file is left out
  std::optional<std::string> read_error;   // why it was read no further
};

/// For what a later part or segment says of the same thing.
template <typename T>
void take_if_known(std::optional<T>& known, const std::optional<T>& newer) {
  if (newer) {
    known = newer;
  }
}

/// Adds a mark. The second line of a range has its end too; a line without one never takes it away.
inline void take_mark(std::uint64_t number, const model::Mark& mark, model::TraceFile& file) {
  model::Mark& known = file.marks[number];
  if (mark.end_ns || !known.end_ns) {
    known = mark;
  }
}

/// Appends `next` to the file that `whole` begins. `names` are those of `whole`. Operations whose
/// id is in `whole` already are left out, and each is a problem: lines were doubled then, or a file
/// was appended to itself.
void append_part(Part&& next, const std::string& path, model::NameTable& names, Part& whole,
                 model::Problems& problems);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_PART_H
