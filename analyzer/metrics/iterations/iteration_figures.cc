// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/iteration_figures.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/parallel.h"

namespace ringside::metrics {
namespace {

using Done = std::function<void(std::uint32_t, std::vector<std::int64_t>&&)>;

// Some iterations, whose operations follow each other.
void measure_some(const facts::Facts& facts, const GlobalRanks& who,
                  std::span<const OperationOf> operations, const Done& done) {
  std::vector<std::uint32_t> indices;
  for (const OperationOf& one : operations) {
    indices.push_back(one.operation);
  }
  // Executions by rank, on its own time line.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> intervals(who.all().size());
  match::Executions memory;
  match::read_parts(
      facts.traces(), facts.matches(), indices, memory,
      [&](std::size_t i, std::span<const match::Part> parts,
          std::span<const model::Execution> executions) {
        const auto communicator = facts.matches().operations[indices[i]].communicator;
        for (std::size_t k = 0; k < parts.size(); ++k) {
          if (facts::ran_to_its_end(executions[k])) {
            intervals[who.of(communicator, parts[k].member)].emplace_back(*executions[k].start_ns,
                                                                          *executions[k].end_ns);
          }
        }
        if (i + 1 < operations.size() && operations[i + 1].iteration == operations[i].iteration) {
          return;
        }
        std::vector<std::int64_t> busy_ns;
        for (auto& of_rank : intervals) {
          if (!of_rank.empty()) {
            busy_ns.push_back(union_ns(of_rank));
            of_rank.clear();
          }
        }
        done(operations[i].iteration, std::move(busy_ns));
      });
}

}  // namespace

std::optional<std::int64_t> median_over_ranks(std::vector<std::int64_t>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::sort(values.begin(), values.end());
  constexpr double kMost = 9e18;
  return std::llround(std::clamp(median(values), -kMost, kMost));
}

// Short iterations are read together, since it takes longer to read few operations at a time.
void measure_iterations(const facts::Facts& facts, const GlobalRanks& who,
                        std::vector<OperationOf> operations, std::size_t iterations,
                        const Done& done) {
  std::sort(operations.begin(), operations.end());
  constexpr std::size_t kOperations = match::Executions::kAtATime;
  const std::size_t together =
      operations.empty() ? 1
                         : std::max<std::size_t>(kOperations * iterations / operations.size(), 1);
  for_each_on_cores(iterations / together + 1, [&](std::size_t, std::size_t portion) {
    const auto at = [&](std::size_t number) {
      return std::partition_point(operations.begin(), operations.end(),
                                  [&](const OperationOf& one) { return one.iteration < number; });
    };
    measure_some(facts, who, {at(portion * together), at((portion + 1) * together)}, done);
  });
}

}  // namespace ringside::metrics
