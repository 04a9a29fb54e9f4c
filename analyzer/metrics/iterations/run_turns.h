// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a run went through its iterations. The period is found in the calls of one
// rank, the reference; the others are followed by the operations that they share with it.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATIONS_RUN_TURNS_H
#define RINGSIDE_ANALYZER_METRICS_ITERATIONS_RUN_TURNS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations/iteration_figures.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/iterations/period.h"
#include "analyzer/metrics/own_calls.h"

namespace ringside::metrics {

/// The iterations as the reference called them.
struct RunTurns {
  RunPeriod period;
  std::vector<std::uint32_t> calls;     // operations in the scope, in the order of its calls
  std::vector<Turn> turns;              // of `calls`: the iterations
  std::vector<std::int64_t> starts_ns;  // of each: epoch, common clock
};

/// The iterations as other ranks went through them.
struct FollowedTurns {
  std::vector<std::vector<std::int64_t>> durations_ns;  // by iteration, of the ranks
  std::uint64_t ranks = 0;          // that share an iteration with the reference
  std::vector<OperationOf> others;  // operations without the reference
};

class RunFollower {
 public:
  /// All must outlive it.
  RunFollower(const facts::Facts& facts, const GlobalRanks& who, std::uint32_t run);

  /// How many calls with a time each rank made.
  std::vector<std::uint64_t> calls_by_rank() const;
  /// The turns of that rank. `length`: as of find_iterations().
  RunTurns find_turns(std::uint32_t reference, std::size_t length) const;
  /// Follows all ranks. `calls`, `turns`: those of the reference.
  FollowedTurns follow(std::span<const std::uint32_t> calls, const std::vector<Turn>& turns) const;
  /// The operations of the run that are in an iteration. `iteration_of`: by operation.
  std::vector<OperationOf> operations_of(const std::vector<std::uint32_t>& iteration_of) const;

 private:
  // The calls of a rank in one iteration, on its own time line.
  struct Span {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // the next call after it; the greatest number if there is none
    std::uint32_t iteration = 0;
  };
  using Spans = std::vector<Span>;  // of one rank, in the order of time

  std::uint32_t rank_of(std::uint32_t operation, std::uint32_t member) const {
    return who_.of(matches_.operations[operation].communicator, member);
  }
  std::vector<OwnCall> calls_of(std::uint32_t reference) const;
  void take_turns(const std::vector<OwnCall>& calls, RunTurns& found) const;
  void assign_others(std::span<const std::uint32_t> calls, const std::vector<Spans>& spans,
                     FollowedTurns& found) const;
  static std::uint32_t iteration_at(const Spans& spans, std::int64_t time_ns);

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks& who_;
  std::vector<std::uint32_t> operations_;  // of the run
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_RUN_TURNS_H
