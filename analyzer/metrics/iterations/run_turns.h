// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a run went through its iterations. The period is found in the calls of one
// rank, the reference; the others are followed by the operations that they share with it. All rows
// of a rank must be here, but not all ranks.
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

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(period, calls, turns, starts_ns);
  }
};

/// The iterations as other ranks went through them.
struct FollowedTurns {
  /// An operation without the reference: the first of its members that was in an iteration then.
  struct Other {
    std::uint32_t operation = 0;
    std::uint32_t member = 0;
    std::uint32_t iteration = 0;

    auto operator<=>(const Other&) const = default;
  };
  std::vector<std::vector<std::int64_t>> durations_ns;  // by iteration, of the ranks
  std::uint64_t ranks = 0;  // that share an iteration with the reference
  std::vector<Other> others;

  /// Joins what was found of other ranks.
  void take(FollowedTurns&& more);

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(durations_ns, ranks, others);
  }
};

class RunFollower {
 public:
  /// All must outlive it.
  RunFollower(const facts::Facts& facts, const GlobalRanks& who, std::uint32_t run);

  /// How many calls with a time each rank made.
  std::vector<std::uint64_t> calls_by_rank() const;
  /// The turns of that rank, whose rows are here. `length`: as of find_iterations().
  RunTurns find_turns(std::uint32_t reference, std::size_t length) const;
  /// Follows the ranks that are here. `calls`: those of the reference; kNoIteration: an operation
  /// of which no rows are here.
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

/// The rank with the most calls; nothing if there are none.
std::optional<std::uint32_t> choose_reference(const std::vector<std::uint64_t>& calls_by_rank);

/// An operation as iterations name it.
PeriodCall period_call(const model::Traces& traces, const match::Matches& matches,
                       std::uint32_t operation);

/// Says in which iteration each operation is. `iteration_of`: by operation, until now kNoIteration.
void put_iterations(const RunTurns& turns, const FollowedTurns& followed,
                    std::vector<std::uint32_t>& iteration_of);

/// All of a run but what its operations took. `calls_by_rank`, `reference`: as of the functions
/// above.
RunIterations make_run(std::uint32_t run, const std::vector<std::uint64_t>& calls_by_rank,
                       std::uint32_t reference, const GlobalRanks& who, const RunTurns& turns,
                       FollowedTurns&& followed);

/// Finds the distributions over its iterations.
void sum_up(RunIterations& run);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_RUN_TURNS_H
