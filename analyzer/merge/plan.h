// SPDX-License-Identifier: Apache-2.0
//
// The plan of a merged file: which processes in which order, which operations, and what is
// added to their lines. Times are of Alignment::to_common_ns.
#ifndef RINGSIDE_ANALYZER_MERGE_PLAN_H
#define RINGSIDE_ANALYZER_MERGE_PLAN_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

struct PlanOptions {
  bool is_part = false;  // only what belongs to the operations that are there
  bool has_arrows = true;
  std::size_t marks = 10;  // of findings of each communicator, at most
};

/// A rank waits in an operation, from its start on.
struct Wait {
  std::uint64_t operation = 0;  // "op" of its file
  std::int64_t until_ns = 0;
  std::int64_t uncertainty_ns = 0;
  std::uint32_t last = 0;  // index into Plan::processes, of the rank that came last
};

/// One end of an arrow, at a moment of an operation.
struct ArrowEnd {
  std::uint64_t operation = 0;
  std::int64_t at_ns = 0;
  std::uint64_t arrow = 0;  // from 1; one that begins may end several times
  std::uint32_t from = 0;   // where it begins, by its place in the plan
  bool begins = false;
  bool is_of_kernel = false;  // from a kernel in a trace of PyTorch's
};

struct Mark {
  std::int64_t at_ns = 0;
  std::string text;
};

/// One file of the model.
struct ProcessPlan {
  std::uint32_t file = 0;                 // index into Traces::files
  std::uint32_t pid = 0;                  // in the merged file
  std::string label;                      // "rank 3"
  bool has_lines = true;                  // false if its trace is one of PyTorch's profiler alone
  std::vector<std::uint64_t> operations;  // "op" of those that are kept, ascending; if is_part
  std::vector<Wait> waits;                // by operation
  std::vector<ArrowEnd> arrow_ends;       // by operation
  std::vector<Mark> marks;
  /// By context, the names of those communicators that the trace knows by another one.
  std::map<std::uint32_t, std::string> names;

  /// Returns the communicator's name; `of_trace` is what the trace has.
  std::string_view name_of(std::uint32_t context, std::string_view of_trace) const {
    const auto name = names.find(context);
    return name != names.end() ? name->second : of_trace;
  }
};

/// A kernel in a trace of PyTorch's profiler that is an operation.
struct KinetoLink {
  std::uint64_t arrow = 0;  // 0: none, since the operation has no lines
  std::string arguments;    // JSON members, for the kernel's
};

struct KinetoPlan {
  std::string path;
  std::uint32_t process = 0;  // index into Plan::processes
  std::int64_t base_ns = 0;   // of the trace's times
  std::uint64_t kernels = 0;  // of NCCL
  std::uint64_t linked = 0;
  std::map<std::size_t, KinetoLink> links;  // by event
};

struct Plan {
  bool is_part = false;
  std::int64_t base_time_s = 0;        // of the merged file's time line
  std::vector<ProcessPlan> processes;  // in the order of the ranks
  std::uint32_t free_pid = 0;          // this one and greater ones are no process's
  std::vector<KinetoPlan> kineto;
  /// Lines of the critical path, for a pid that is nobody's; empty if there is none.
  std::function<std::string(std::uint32_t pid)> path_lines;
  std::uint64_t arrows = 0;
  std::uint64_t operations = 0;  // matched ones that are kept
  /// If a part is kept: the times of its operations, in order, none overlapping another.
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
};

/// Call to end of an operation over all its ranks; nothing where no rank has a time.
std::optional<std::pair<std::int64_t, std::int64_t>> span_of(
    const model::Traces& traces, const match::Matches& matches, const align::Alignment& alignment,
    const match::MatchedOperation& operation);

/// Leaves the operations that took longest from first start to last end. Those that were not seen
/// to run everywhere go first.
void keep_slowest(const model::Traces& traces, const align::Alignment& alignment, std::size_t count,
                  match::Matches& matches);

/// Leaves the operations within so many nanoseconds of the one that `text` names as
/// communicator:function:number. False if there is none.
bool keep_around(const model::Traces& traces, const align::Alignment& alignment,
                 const std::string& text, std::int64_t margin_ns, match::Matches& matches);

/// Whether something of this time is while an operation of a part is under way.
bool is_in_spans(const Plan& plan, std::int64_t begin_ns, std::int64_t end_ns);

Plan make_plan(const model::Traces& traces, const match::Matches& matches,
               const align::Alignment& alignment, const PlanOptions& options);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PLAN_H
