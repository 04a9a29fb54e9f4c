// SPDX-License-Identifier: Apache-2.0
//
// The calls of one rank over all its communicators, in their order, and what repeats among them.
#ifndef RINGSIDE_ANALYZER_METRICS_OWN_CALLS_H
#define RINGSIDE_ANALYZER_METRICS_OWN_CALLS_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/match/executions.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/iterations.h"
#include "analyzer/metrics/period.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// A matched operation as one rank called it; of several parts the first call.
struct OwnCall {
  std::int64_t time_ns = 0;     // on the file's own time line
  std::uint64_t id = 0;         // of the trace, to order calls of one moment
  std::uint32_t operation = 0;  // index into Matches::operations
  std::uint32_t part = 0;       // index into Matches::parts
};

/// When an operation was called; where that is not known, when it began. `Times`: model::Operation
/// or model::Execution.
template <typename Times>
std::optional<std::int64_t> call_time(const Times& operation) {
  return operation.enqueue_start_ns ? operation.enqueue_start_ns : operation.start_ns;
}

/// Calls visit(member, part, time_ns) for each rank that called the operation, with its first call;
/// ranks whose call has no time are left out. `executions` are those of its parts.
template <typename Visit>
void for_each_caller(const match::Matches& matches, const match::MatchedOperation& operation,
                     std::span<const model::Execution> executions, const Visit& visit) {
  for (std::size_t i = 0; i < executions.size();) {
    const std::uint32_t member = matches.parts[operation.first_part + i].member;
    std::optional<std::int64_t> first_ns;
    std::size_t first = i;
    for (; i < executions.size() && matches.parts[operation.first_part + i].member == member; ++i) {
      const auto time_ns = call_time(executions[i]);
      if (time_ns && (!first_ns || *time_ns < *first_ns)) {
        first_ns = time_ns;
        first = i;
      }
    }
    if (first_ns) {
      visit(member, static_cast<std::uint32_t>(operation.first_part + first), *first_ns);
    }
  }
}

/// The same for each of several operations, calling visit(i, member, part, time_ns).
template <typename Visit>
void for_each_caller(const model::Traces& traces, const match::Matches& matches,
                     std::span<const std::uint32_t> operations, const Visit& visit) {
  match::Executions memory;
  match::read_executions(traces, matches, operations, memory, [&](std::size_t i, auto executions) {
    for_each_caller(matches, matches.operations[operations[i]], executions,
                    [&](auto... call) { visit(i, call...); });
  });
}

/// The calls that were found to repeat, and the scope in which they do.
struct Repetition {
  IterationScope scope;
  std::vector<OwnCall> calls;  // in the scope
  Symbols symbols;             // one for each of them
  Periods periods;
  /// The length of the sequence that repeats with the roots, if these go around and the scope is
  /// without roots for that; else 0.
  std::size_t with_roots_length = 0;
};

/// Looks at all communicators, then at each by itself, the one with the most calls first; with
/// sizes, then without; each with roots, and without if nothing repeats or if the roots only go
/// around, so that what repeats is shorter without them. The first scope in which something
/// repeats; else all, with sizes. `calls` are in their order. `length`: not 0: of that length.
Repetition find_repetition(const model::Traces& traces, const match::Matches& matches,
                           const std::vector<OwnCall>& calls, std::size_t length);

/// The block, begun after the longest of the pauses between its calls (by the median of each).
Symbols begin_after_pause(const std::vector<OwnCall>& calls, const Symbols& symbols,
                          const Symbols& block);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OWN_CALLS_H
