// SPDX-License-Identifier: Apache-2.0
//
// The figures of one iteration: the time of its operations, and the ranks that they waited for.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H
#define RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations.h"

namespace ringside::metrics {

/// The middle of one value of each rank; nothing of none. Sorts them.
std::optional<std::int64_t> median_over_ranks(std::vector<std::int64_t>& values);

/// Fills in busy_ns, waited_ns, waited_for, synchronising, decided, slowest and delay_ns.
/// `operations`: those of the iteration, indices into Matches::operations.
void measure_iteration(const facts::Facts& facts, const GlobalRanks& who,
                       const std::vector<std::uint32_t>& operations, Iteration& iteration);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H
