// SPDX-License-Identifier: Apache-2.0
//
// Loads traces, and partials made of them, into the model, on several threads; the result does not
// depend on how many.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_LOADER_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_LOADER_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/dump_choice.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// How much of a plain file one thread takes at a time.
inline constexpr std::uint64_t kRangeBytes = std::uint64_t{4} << 20;

/// The progress of a load that is under way; any thread may look at it.
struct Progress {
  std::atomic<std::uint64_t> bytes_done{0};  // of plain and of compressed text
  std::atomic<std::uint64_t> bytes_all{0};   // 0: not known, since not all files are plain
};

/// Loads all files, in the order given, and puts together the segments of one process. A bad line
/// is added to `problems` and left out; so is, as a whole, a file that cannot be opened or does not
/// begin as a trace. If there are partials, traces are in the order of their paths. `threads` 0:
/// as many as there are cores. A plain file is read up to the size that it has when loading begins,
/// in ranges of range_bytes (above 0; tests make it small); compressed files and pipes are read by
/// one thread each.
model::Traces load_traces(const std::vector<std::string>& paths, model::Problems& problems,
                          unsigned threads = 0, std::uint64_t range_bytes = kRangeBytes,
                          Progress* progress = nullptr, const DumpChoice& dumps = {});

/// The content of one trace, before its segments are put together.
struct LoadedTrace {
  model::Traces traces;  // one file, or none if it could not be read; with names of its own
  model::Problems problems;
  std::size_t file = 0;  // in the list of files that were read
};

/// Adds all problems of `others` to `problems`, behind those that are there.
void append_problems(const model::Problems& others, model::Problems& problems);

/// Loads the same files as load_traces, but keeps each trace by itself. It takes no Flight Recorder
/// dump.
std::vector<LoadedTrace> load_each(const std::vector<std::string>& paths, unsigned threads = 0,
                                   Progress* progress = nullptr);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_LOADER_H
