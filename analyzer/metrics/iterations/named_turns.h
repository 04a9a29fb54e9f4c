// SPDX-License-Identifier: Apache-2.0
//
// The iterations that the application names itself: by ranges or marks such as ProfilerStep#12.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATIONS_NAMED_TURNS_H
#define RINGSIDE_ANALYZER_METRICS_ITERATIONS_NAMED_TURNS_H

#include <string>
#include <vector>

#include "analyzer/metrics/iterations/period.h"
#include "analyzer/metrics/own_calls.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

struct NamedTurns {
  std::string name;         // without its number
  std::vector<Turn> turns;  // of the calls; empty if not enough iterations are named
  std::size_t length = 0;  // calls of an iteration, where those that are named have as many; else 0
};

/// Ranges or marks whose names hold "step" or "iter" are of one family if they differ in a number
/// at the end only. The family that has most of the calls is taken, if these are half of all, in
/// kLeastTurns turns; of steps of PyTorch's profiler one is enough. Where it saw some steps only,
/// their calls are counted, and each step has as many. A mark lasts until the next one. `calls` are
/// those of one rank in their order; `trace` is its file.
NamedTurns find_named_turns(const model::Traces& traces, const model::TraceFile& trace,
                            const std::vector<OwnCall>& calls);

/// How many of a rank's calls each iteration has that is named, where all have as many; else 0.
std::uint32_t calls_of_step(const model::Traces& traces, const model::TraceFile& trace,
                            std::vector<std::int64_t> calls_ns);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_NAMED_TURNS_H
