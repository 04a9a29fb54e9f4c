// SPDX-License-Identifier: Apache-2.0
//
// How long operations ran in each iteration, rank by rank. It needs all rows of a rank.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATIONS_ITERATION_FIGURES_H
#define RINGSIDE_ANALYZER_METRICS_ITERATIONS_ITERATION_FIGURES_H

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"

namespace ringside::metrics {

/// The middle of one value of each rank; nothing of none. Sorts them.
std::optional<std::int64_t> median_over_ranks(std::vector<std::int64_t>& values);

/// An operation of an iteration.
struct OperationOf {
  std::uint32_t iteration = 0;
  std::uint32_t operation = 0;  // index into Matches::operations

  auto operator<=>(const OperationOf&) const = default;
};

/// Calls done(iteration, busy_ns) for each iteration that has some of the operations: for how long
/// one or more of them ran on each rank on which one did. On all cores, for each iteration on one.
void measure_iterations(
    const facts::Facts& facts, const GlobalRanks& who, std::vector<OperationOf> operations,
    std::size_t iterations,
    const std::function<void(std::uint32_t, std::vector<std::int64_t>&&)>& done);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_ITERATION_FIGURES_H
