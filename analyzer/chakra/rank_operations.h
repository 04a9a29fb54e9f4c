// SPDX-License-Identifier: Apache-2.0
//
// The operations of each rank of the job, with their times, waits, peers and tags.
#ifndef RINGSIDE_ANALYZER_CHAKRA_RANK_OPERATIONS_H
#define RINGSIDE_ANALYZER_CHAKRA_RANK_OPERATIONS_H

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/facts/interval.h"

namespace ringside::chakra {

/// An operation as one rank saw it. Times are on the common clock.
struct RankOperation {
  std::uint32_t matched = 0;   // index into Matches::operations
  std::uint32_t part = 0;      // index into Matches::parts
  bool has_execution = false;  // it was seen to run; else start_ns is its call's, and end_ns too
  bool has_wait = false;       // wait and wait_ns are known
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  /// When all that it needed was there, as far as that is known: start_ns, and the wait.
  std::int64_t there_ns = 0;
  std::int64_t wait_ns = 0;  // within its execution, for ranks that it needs: the best guess
  facts::Interval wait;      // and its bounds
  /// If it is a send or receive: the other rank in the job, and a number that it has in common with
  /// the receive or send there; both count from 0 for each two ranks.
  std::optional<std::uint32_t> peer;
  std::optional<std::int32_t> tag;
};

/// A run, as an index into Runs::runs, and a rank of its job.
using RunAndRank = std::pair<std::uint32_t, std::uint32_t>;

struct RankOperations {
  std::map<RunAndRank, std::vector<RankOperation>> of_rank;
  /// Ranks in the job by communicator and member; nothing where it is not known.
  std::vector<std::vector<std::optional<std::uint32_t>>> job_ranks;
  /// By communicator: its number in its run. Simulators want process groups to be named so.
  std::vector<std::uint32_t> group_numbers;
  /// Operations of members whose rank in the job is not known: they are left out.
  std::uint64_t without_rank = 0;
};

RankOperations find_rank_operations(const facts::Facts& facts);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_RANK_OPERATIONS_H
