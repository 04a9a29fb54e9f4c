// SPDX-License-Identifier: Apache-2.0
//
// The one replay of a run that all commands take their figures from: who slows it, what each rank
// did and waited, and what its end waited for.
#ifndef RINGSIDE_ANALYZER_REPLAY_RUN_REPLAY_H
#define RINGSIDE_ANALYZER_REPLAY_RUN_REPLAY_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/replay/job.h"
#include "analyzer/replay/job_parts.h"
#include "analyzer/replay/slow_ranks.h"
#include "analyzer/replay/what_if.h"

namespace ringside::replay {

/// What a rank did of the time between its first arrival and its last end.
struct RankFigures {
  std::int64_t waited_ns = 0;  // for other ranks
  std::int64_t own_ns = 0;     // before its kernels
  /// As a part of what the others of its role do at the same places: 1 is usual. Nothing: it has
  /// no others.
  std::optional<double> own_ratio;
};

/// Not thread-safe. Not to be copied or moved, since its parts refer to each other.
class RunReplay {
 public:
  /// `is_seen`: all ranks of nearly all operations are. Else nobody is named.
  RunReplay(Job job, bool is_seen);
  RunReplay(const RunReplay&) = delete;
  RunReplay& operator=(const RunReplay&) = delete;

  const Job& job() const { return job_; }
  /// False if a replay does not give the job as it was: nothing is said of what would be.
  bool is_possible() const;
  WhatIf& what_if() { return what_if_; }
  const WhatIf& what_if() const { return what_if_; }
  /// By rank.
  const std::vector<RankFigures>& ranks() const { return ranks_; }
  const SlowRanks& slow() const { return slow_; }
  /// What all ranks waited.
  std::int64_t waited_ns() const { return waited_ns_; }

 private:
  Job job_;
  WhatIf what_if_;
  std::vector<RankFigures> ranks_;
  std::int64_t waited_ns_ = 0;
  SlowRanks slow_;
};

/// The replays of all runs, by run.
struct Replays {
  std::vector<std::unique_ptr<RunReplay>> runs;
  std::vector<Coverage> coverage;  // by run, as Job::run; of those, too, in which nothing ran
  std::size_t left_out = 0;  // traces that were not chosen, so that who waits for them is unknown
  bool is_profiled = false;  // the traces are made of profiles

  /// A replay gives each run as it was.
  bool are_possible() const;
  /// The run that took longest; NULL if nothing ran.
  RunReplay* longest() const;
  /// Returns the sum over all runs.
  Coverage all_coverage() const;
  /// Returns how long each rank waited, for the start of the others, too, by its JobRank::file and
  /// label. Two waits at once count both. Only ranks of runs that show it are there.
  std::map<std::pair<std::uint32_t, std::string>, std::int64_t> waits_by_rank() const;
};

Replays make_replays(JobParts&& parts, const model::Traces& traces, const match::Matches& matches);

/// The same of all operations, which are here.
Replays find_replays(const facts::Facts& facts);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_RUN_REPLAY_H
