// SPDX-License-Identifier: Apache-2.0
//
// Which files are of one run of a job: a directory may hold several, and restarts.
#ifndef RINGSIDE_ANALYZER_MATCH_RUNS_H
#define RINGSIDE_ANALYZER_MATCH_RUNS_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::match {

struct Run {
  std::string job;
  std::int64_t start_ns = 0;  // of its first process, since the epoch
  std::vector<std::uint32_t> files;
};

struct Runs {
  std::vector<Run> runs;               // by job, then by start
  std::vector<std::uint32_t> of_file;  // index into runs, for each of Traces::files
};

/// A run is of one job. A process that comes again (same rank of the launcher; without one, same
/// host, boot and pid) after the earlier one had ended begins the next run of its job, and all that
/// started since that end belong to it.
Runs find_runs(const model::Traces& traces);

/// The last sign of life of a process, since the epoch.
std::int64_t end_of(const model::TraceFile& file);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_RUNS_H
