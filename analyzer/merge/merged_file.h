// SPDX-License-Identifier: Apache-2.0
//
// One trace of all ranks (docs/trace-format.md, "Merged files"): the lines of their traces, moved
// to one clock, and what a plan adds; as Chrome JSON, or in Perfetto's own format. The traces are
// read again, line by line.
#ifndef RINGSIDE_ANALYZER_MERGE_MERGED_FILE_H
#define RINGSIDE_ANALYZER_MERGE_MERGED_FILE_H

#include <atomic>
#include <cstdint>
#include <string>

#include "analyzer/align/alignment.h"
#include "analyzer/merge/output_file.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

struct MergedLines {
  std::uint64_t written = 0;
  std::uint64_t kineto_events = 0;
  std::uint64_t damaged = 0;  // left out: cannot be read, or have no place on the time line
  std::string first_damaged;  // "path:line: reason"
  std::uint64_t unread = 0;   // processes of which a file could not be read to its end
};

struct WriteOptions {
  bool has_steps = true;
  bool is_perfetto = false;
  bool is_overview = false;                          ///< instead of the traces' lines
  unsigned threads = 0;                              ///< at most; 0: one a core
  std::atomic<std::uint64_t>* bytes_read = nullptr;  ///< grows, if there
};

/// Trouble with a file is added to `problems`; errors of writing are the output's.
MergedLines write_merged(const model::Traces& traces, const align::Alignment& alignment,
                         const Plan& plan, const WriteOptions& options, OutputFile& output,
                         model::Problems& problems);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_MERGED_FILE_H
