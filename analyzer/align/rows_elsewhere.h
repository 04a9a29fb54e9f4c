// SPDX-License-Identifier: Apache-2.0
//
// The points of operations whose rows stay in the processes that have read them. `ringside` has
// none; `ringside-mpi` says how they are asked for.
#ifndef RINGSIDE_ANALYZER_ALIGN_ROWS_ELSEWHERE_H
#define RINGSIDE_ANALYZER_ALIGN_ROWS_ELSEWHERE_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/align/host_bounds.h"
#include "analyzer/align/host_clocks.h"
#include "analyzer/align/points/step_points.h"
#include "analyzer/align/points/sync_points.h"
#include "analyzer/match/alike_calls.h"
#include "analyzer/model/trace.h"

namespace ringside::align {

/// A communicator, by what its rows are found.
struct CommunicatorElsewhere {
  struct Member {
    std::uint32_t file = 0;  // index into Traces::files
    std::uint32_t context = 0;
    std::uint32_t rank = 0;
    std::uint32_t host = 0;  // index into `hosts`
    std::int64_t since_zero_ns = 0;
  };
  std::vector<std::string> functions;
  std::vector<std::uint32_t> hosts;  // by the first member of each
  std::vector<Member> members;
};

/// Some operations of one function, by number: the first is the operation `first`, counted from 0.
struct RangeElsewhere {
  std::uint32_t communicator = 0;
  std::uint32_t function = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The steps that bound clocks: those of `files`, and of the operations that are elsewhere.
struct StepsElsewhere {
  std::uint64_t stride = 1;
  /// By communicator and function: how many operations come before its first one, wherever.
  std::vector<std::vector<std::uint64_t>> before;
  WantedSteps files;
};

class RowsElsewhere {
 public:
  RowsElsewhere() = default;
  virtual ~RowsElsewhere() = default;
  RowsElsewhere(const RowsElsewhere&) = delete;
  RowsElsewhere& operator=(const RowsElsewhere&) = delete;

  /// Says what the indices of ranges mean. Called once, before the first range.
  virtual void place(const model::Traces& traces,
                     const std::vector<CommunicatorElsewhere>& communicators) = 0;
  /// The bounds of each operation, and of each of the communicator's hosts. A host without any has
  /// those that bound nothing.
  virtual std::vector<HostBounds> bounds(const RangeElsewhere& range) = 0;
  /// The chunks of these steps, in any order.
  virtual std::vector<Chunk> chunks(StepsElsewhere steps) = 0;
};

/// Nothing, unless they were set.
RowsElsewhere* rows_elsewhere();
void set_rows_elsewhere(RowsElsewhere* rows);

/// Finds what find_sync_points() finds where all rows are here. `matches` are of the communicators
/// whose rows are here, and `calls` of those whose rows are elsewhere.
SyncPoints find_points_elsewhere(const model::Traces& traces, const match::Matches& matches,
                                 const match::AlikeCalls& calls, const HostClocks& clocks,
                                 const StampErrors& errors);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_ROWS_ELSEWHERE_H
