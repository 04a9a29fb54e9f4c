// SPDX-License-Identifier: Apache-2.0
//
// The figures of one iteration: the time of its operations, and the ranks that they waited for.
// They may be found in several parts, where rows are in several processes: the time needs all rows
// of a rank, and the waits need all rows of an operation.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H
#define RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

/// Figures of one iteration, by some of its ranks or operations.
struct IterationParts {
  /// The others' waits for one rank.
  struct Charged {
    std::int64_t waited_ns = 0;
    std::int64_t delay_ns = 0;
  };

  std::vector<std::int64_t> busy_ns;         // of each rank on which an operation ran
  std::map<std::uint32_t, Charged> charges;  // by rank, as in GlobalRanks
  std::optional<std::int64_t> waited_ns;
  std::uint64_t synchronising = 0;
  std::uint64_t decided = 0;

  /// Joins what was found by other ranks, or of other operations.
  void take(const IterationParts& more);

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(busy_ns, charges, waited_ns, synchronising, decided);
  }
};

/// Fills in busy_ns, waited_ns, waited_for, synchronising, decided, slowest and delay_ns.
void fill_in(IterationParts&& parts, const model::Traces& traces, const GlobalRanks& who,
             Iteration& iteration);

/// The parts of iterations to look for.
struct Measured {
  bool runs = true;
  RankWaits* waits = nullptr;  // not NULL: the waits, too
  bool are_known = false;      // the waits are; else they are found
};

/// Calls done(iteration, parts) for each iteration that has some of the operations; on all cores,
/// for each iteration on one.
void measure_iterations(const facts::Facts& facts, const GlobalRanks& who,
                        std::vector<OperationOf> operations, std::size_t iterations,
                        const Measured& measured,
                        const std::function<void(std::uint32_t, IterationParts&&)>& done);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATION_FIGURES_H
