// SPDX-License-Identifier: Apache-2.0
//
// The figures of one iteration: the time of its operations, and the ranks that they waited for.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H
#define RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations.h"
#include "analyzer/metrics/rank_waits.h"

namespace ringside::metrics {

/// The middle of one value of each rank; nothing of none. Sorts them.
std::optional<std::int64_t> median_over_ranks(std::vector<std::int64_t>& values);

/// An operation of an iteration.
struct OperationOf {
  std::uint32_t iteration = 0;
  std::uint32_t operation = 0;  // index into Matches::operations

  auto operator<=>(const OperationOf&) const = default;
};

/// Fills in busy_ns, waited_ns, waited_for, synchronising, decided, slowest and delay_ns of some
/// iterations, whose operations follow each other. `thread`: the one by which the waits are found
/// first, as RankWaits::add; nothing: they are known.
void measure_iterations(const facts::Facts& facts, const GlobalRanks& who,
                        std::span<const OperationOf> operations,
                        const std::optional<std::size_t>& thread, RankWaits& waits,
                        std::vector<Iteration>& iterations);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H
