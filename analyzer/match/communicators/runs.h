// SPDX-License-Identifier: Apache-2.0
//
// Finds which files are of one run of a job. A directory may hold several runs, and restarts.
#ifndef RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_RUNS_H
#define RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_RUNS_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::match {

struct Run {
  std::string job;
  std::int64_t start_ns = 0;  // start of its first process, since the epoch
  std::vector<std::uint32_t> files;
  /// Whether it is of profiles that began after those of the run before had ended.
  bool is_later_profile = false;
  std::uint64_t unmatched = 0;  // sends and receives without a peer
};

struct Runs {
  std::vector<Run> runs;               // by job, then by start
  std::vector<std::uint32_t> of_file;  // for each of Traces::files, an index into runs
};

/// Finds the runs of each job. A process is a restart if an earlier one with the same identity had
/// ended: the same launcher's rank, or without one the same rank in a first communicator that has
/// no hash, or the same host, boot and pid. A restart begins the job's next run, and all processes
/// that started after that end belong to it. So does a profile that begins after all had ended: by
/// one clock, or by the clocks of several hosts ten seconds or more. If the processes of each clock
/// have as many runs, the runs of the same number are one run, however far the clocks are apart
/// (those of profiles, ten seconds).
Runs find_runs(const model::Traces& traces);

std::int64_t end_of(const model::TraceFile& file);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_RUNS_H
