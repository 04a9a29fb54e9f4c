// SPDX-License-Identifier: Apache-2.0
//
// The facts of each matched operation: the ranks that took part, their arrivals, their waits for
// each other, its duration, and how well all of these are known. Every command reads them.
// docs/metrics.md defines the figures.
#ifndef RINGSIDE_ANALYZER_FACTS_FACTS_H
#define RINGSIDE_ANALYZER_FACTS_FACTS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/flow.h"
#include "analyzer/facts/host_times.h"
#include "analyzer/facts/interval.h"
#include "analyzer/facts/operation_times.h"
#include "analyzer/facts/rank_times.h"
#include "analyzer/match/executions.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/model/trace.h"

namespace ringside::facts {

/// The data that the times of an operation rest on.
enum class Basis : std::uint8_t {
  kNothing,    // no rank has a time
  kCall,       // only calls are known
  kSome,       // some ranks were seen to run it, and of the others only the calls are known
  kExecution,  // every rank that recorded it was seen to run it, from start to end
};

/// One matched operation. Times are on the common clock.
struct OperationFacts {
  Basis basis = Basis::kNothing;
  bool has_all_ranks = false;     // every rank that takes part has a time
  bool is_impossible = false;     // its times contradict each other: they are in no figure
  std::uint32_t ranks_timed = 0;  // ranks that were seen to run it
  std::int64_t first_arrival_ns = 0;
  std::int64_t last_arrival_ns = 0;
  std::int64_t last_end_ns = 0;  // of the ranks that were seen to run it
  /// How long the data took: of ranks that need each other the shortest time of one, since the last
  /// to come waits for nobody. Absent where no rank was seen to run it.
  std::optional<Interval> busy;
  std::int64_t best_busy_ns = 0;  // the best estimate, if busy is there
};

/// A matched operation while its ranks are at hand.
struct SeenOperation {
  std::uint32_t index;  // of Matches::operations
  std::span<const match::Part> parts;
  std::span<const model::Execution> executions;  // of its parts
  const OperationFacts& facts;
  std::vector<RankTimes>& rows;  // its ranks, as of Facts::ranks_of; they may be taken away
};

/// Sums up operations, each of which comes once, in any order. `thread` counts from 0 to
/// core_count() - 1; calls of one thread follow each other.
using Fold = std::function<void(std::size_t thread, const SeenOperation& seen)>;

/// Whether it was seen to run, from start to end: on the GPU, or by what the network moved.
/// `Times`: model::Operation or model::Execution.
template <typename Times>
bool ran_to_its_end(const Times& operation) {
  return model::tells_execution(operation.times_from) && operation.start_ns && operation.end_ns &&
         !operation.in_flight && operation.state == model::State::kCompleted;
}

/// Thread-safe. Traces, matches and alignment must outlive it.
class Facts {
 public:
  Facts(const model::Traces& traces, const match::Matches& matches,
        const align::Alignment& alignment);

  /// By index of Matches::operations. The first call computes all of them, on all cores.
  const std::vector<OperationFacts>& operations() const;
  const std::vector<match::Judgement>& judgements() const;

  /// Fills `rows` with the ranks of one operation that have a time, by arrival, and by member where
  /// that is equal. They are computed anew each time, because they would take more memory than the
  /// traces. Returns what operations() has of it, which need not have been called.
  OperationFacts ranks_of(std::size_t operation, std::vector<RankTimes>& rows) const;
  /// The same, calling take(i, seen) for each of several operations, which takes less time.
  template <typename Take>
  void ranks_of_each(std::span<const std::uint32_t> operations, const Take& take) const {
    match::Executions memory;
    ranks_of_each(operations, memory, take);
  }
  /// The same with memory that the caller uses again.
  template <typename Take>
  void ranks_of_each(std::span<const std::uint32_t> operations, match::Executions& memory,
                     const Take& take) const {
    std::vector<RankTimes> rows;
    match::read_parts(traces_, matches_, operations, memory,
                      [&](std::size_t i, std::span<const match::Part> parts,
                          std::span<const model::Execution> executions) {
                        const OperationFacts facts =
                            make_from(operations[i], parts, executions, rows);
                        take(i, SeenOperation{operations[i], parts, executions, facts, rows});
                      });
  }
  /// The same, calling fold(thread, seen) for each operation, on all cores.
  void for_each(const Fold& fold) const;
  /// The last arrival alone, which takes less time. `rows` is for its memory.
  std::int64_t last_arrival_ns(std::size_t operation, std::vector<RankTimes>& rows) const;

  /// Likewise of operations that were called together as one: each rank comes with its first and
  /// goes with its last. Returns what is known of them together. `rows` is for its memory.
  OperationFacts of_group(const std::vector<std::uint32_t>& operations,
                          std::vector<RankTimes>& rows) const;

  /// Returns who needs whom in an operation whose ranks are `rows`.
  FlowOfOperation flow_of(std::size_t operation, const std::vector<RankTimes>& rows) const;

  const model::Traces& traces() const { return traces_; }
  const match::Matches& matches() const { return matches_; }
  const align::Alignment& alignment() const { return alignment_; }

 private:
  OperationFacts make(const match::MatchedOperation& operation, const FlowOfOperation& flow,
                      std::vector<RankTimes>& rows) const;
  OperationFacts make_from(std::size_t operation, std::span<const match::Part> parts,
                           std::span<const model::Execution> executions,
                           std::vector<RankTimes>& rows) const;
  /// Both fill in all but what they waited, by member, and by the clocks of their hosts.
  void read_ranks(const match::MatchedOperation& operation, std::vector<RankTimes>& rows) const;
  void take_ranks(const match::MatchedOperation& operation, std::span<const match::Part> parts,
                  std::span<const model::Execution> executions, std::vector<RankTimes>& rows) const;
  /// Puts them on the common clock, and in the order of arrival.
  void finish_ranks(const match::MatchedOperation& operation, std::vector<RankTimes>& rows) const;
  void compute_operations() const;

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const bool all_tell_start_;  // of all files model::Process::tells_start
  mutable std::once_flag has_judgements_;
  mutable std::vector<match::Judgement> judgements_;
  mutable std::once_flag has_operations_;
  mutable std::vector<OperationFacts> operations_;
};

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_FACTS_H
