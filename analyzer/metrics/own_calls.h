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
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/iterations/period.h"
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

/// Calls visit(i, member, part, time_ns) for each rank that called the i-th of the operations, with
/// its first call, operation by operation; ranks whose call has no time are left out.
template <typename Visit>
void for_each_caller(const model::Traces& traces, const match::Matches& matches,
                     std::span<const std::uint32_t> operations, const Visit& visit) {
  match::CallTimes memory;
  match::read_parts(traces, matches, operations, memory,
                    [&](std::size_t i, std::span<const match::Part> parts, const auto& times_ns) {
                      const auto first_part = matches.operations[operations[i]].first_part;
                      for (std::size_t k = 0; k < parts.size();) {
                        const std::uint32_t member = parts[k].member;
                        std::size_t first = k;
                        for (; k < parts.size() && parts[k].member == member; ++k) {
                          const bool is_first =
                              times_ns[k] && (!times_ns[first] || *times_ns[k] < *times_ns[first]);
                          first = is_first ? k : first;
                        }
                        if (times_ns[first]) {
                          visit(i, member, static_cast<std::uint32_t>(first_part + first),
                                *times_ns[first]);
                        }
                      }
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
