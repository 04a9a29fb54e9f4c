// SPDX-License-Identifier: Apache-2.0
//
// The lines of one process on their way into the merged file: which are kept, and what is added
// behind which.
#ifndef RINGSIDE_ANALYZER_MERGE_PROCESS_LINES_H
#define RINGSIDE_ANALYZER_MERGE_PROCESS_LINES_H

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/merge/line.h"
#include "analyzer/merge/overview/host_counters.h"
#include "analyzer/merge/plan.h"
#include "analyzer/merge/slice_names.h"
#include "analyzer/merge/slice_rows.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

class ProcessLines {
 public:
  /// `number`: of the process in the merged file, from 1. `spare_texts` are taken from and given
  /// back for their memory. All else must outlive this.
  ProcessLines(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan,
               std::uint32_t number, bool has_steps, HostCounters& counters,
               std::vector<std::string>& spare_texts);

  /// Appends what the merged file has for this line, each line with ",\n". Why the line cannot be
  /// used; nothing if it can.
  std::optional<std::string> take(std::string_view json, std::string& output);

  /// Appends the counters of all operations of the process.
  void append_counters(std::string& output);

  /// Appends name, order and marks of the process.
  void finish(std::string& output);

  std::uint64_t written() const { return written_; }

 private:
  struct AsyncSlice {
    std::string category;
    std::string row;
    std::string members;                     // empty: only the frame around an operation has come
    std::int64_t begin_ns = 0;               // on the file's time line
    std::optional<std::uint64_t> operation;  // if it is one
  };

  struct Endless {
    std::uint64_t operation = 0;  // 0: it is none
    std::int64_t end_ns = 0;
    std::string_view key;
    AsyncSlice* slice = nullptr;
  };
  using OpenSlices = std::pmr::unordered_map<std::string, AsyncSlice>;

  bool keeps(const EventLine& line) const;
  std::vector<Endless> endless_slices();
  std::optional<std::string> take_async(std::string& output);
  AsyncSlice& open_slice();
  void close_slice(OpenSlices::iterator slice);
  std::optional<std::string> begin_async(AsyncSlice& slice);
  std::optional<std::string> append(std::string& output);
  void append_slice(const AsyncSlice& slice, std::int64_t end_ns, std::string& output);
  /// Adds what a plan has in an operation, in the row of its slice. Times are of the line.
  void append_additions(std::uint64_t operation, std::uint32_t tid, std::int64_t begin_ns,
                        std::int64_t end_ns, std::string& output);
  /// Leaves the object open.
  void begin_slice(std::uint32_t tid, std::int64_t begin_ns, std::int64_t end_ns,
                   std::string_view name, Appender& text);
  std::int64_t to_line_ns(std::int64_t common_ns) const;

  const model::Traces& traces_;
  const model::TraceFile& file_;
  const align::Alignment& alignment_;
  const Plan& plan_;
  const ProcessPlan& process_;
  const std::int64_t base_ns_;
  bool has_steps_;
  HostCounters& counters_;
  std::vector<std::string>& spare_texts_;  // of slices that had no end
  Place place_;
  std::string ids_;          // members of a line: pid and tid
  std::string slice_start_;  // of a slice that is added, up to its tid
  SliceNames names_;
  SliceRows rows_;
  EventLine line_;
  // Threads that allocate at one time wait for each other.
  std::pmr::monotonic_buffer_resource memory_;
  OpenSlices open_{&memory_};                 // by category and id
  std::vector<OpenSlices::node_type> spare_;  // memory of slices that have ended
  std::string key_;                           // of the line that is taken
  std::string name_;                          // of the slice that is added
  std::int64_t last_ns_ = 0;                  // of the line, that was met
  std::set<std::int64_t> gpus_;
  std::vector<bool> has_extended_wait_;  // by index into the plan's
  std::vector<bool> has_extended_arrow_;
  std::size_t next_wait_ = 0;  // in the plan's, behind those of the operation before
  std::size_t next_arrow_end_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PROCESS_LINES_H
