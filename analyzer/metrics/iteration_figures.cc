// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iteration_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// The others' waits for one rank in one iteration.
struct ChargedSum {
  std::int64_t waited_ns = 0;
  std::int64_t delay_ns = 0;
};

// Measures one iteration after the other, and keeps its memory.
class Measurer {
 public:
  Measurer(const facts::Facts& facts, const GlobalRanks& who)
      : traces_(facts.traces()),
        matches_(facts.matches()),
        who_(who),
        intervals_(who.all().size()) {}

  /// `waits`: nothing if it is not known who waited.
  void add(std::uint32_t index, std::span<const match::Part> parts,
           std::span<const model::Execution> executions,
           const std::optional<std::span<const ChargedWait>>& waits, Iteration& iteration) {
    const match::MatchedOperation& operation = matches_.operations[index];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const model::Execution& one = executions[i];
      if (facts::ran_to_its_end(one)) {
        intervals_[who_.of(operation.communicator, parts[i].member)].emplace_back(*one.start_ns,
                                                                                  *one.end_ns);
      }
    }
    if (match::ranks_expected(matches_, operation) < 2) {
      return;
    }
    ++iteration.synchronising;
    if (waits) {
      charge(*waits, iteration);
    }
  }

  void finish(Iteration& iteration) {
    busy_ns_.clear();
    for (auto& intervals : intervals_) {
      if (!intervals.empty()) {
        busy_ns_.push_back(union_ns(intervals));
        intervals.clear();
      }
    }
    iteration.busy_ns = median_over_ranks(busy_ns_);
    for (const auto& [rank, charge] : charges_) {
      iteration.waited_for.push_back({rank, charge.waited_ns});
    }
    const auto most = std::max_element(
        charges_.begin(), charges_.end(),
        [](const auto& a, const auto& b) { return a.second.waited_ns < b.second.waited_ns; });
    if (most != charges_.end()) {
      const GlobalRank& rank = who_.all()[most->first];
      iteration.slowest = rank.label;
      iteration.slowest_host = traces_.files[rank.file].process.host;
      iteration.delay_ns = most->second.delay_ns;
    }
    charges_.clear();
  }

 private:
  // By how much a rank came after all others is what the one waited that waited the least.
  void charge(std::span<const ChargedWait> waits, Iteration& iteration) {
    iteration.waited_ns = iteration.waited_ns.value_or(0);
    iteration.decided += waits.empty() ? 0 : 1;
    for (const ChargedWait& wait : waits) {
      ChargedSum& charge = charges_[wait.rank];
      charge.waited_ns = add_saturating(charge.waited_ns, wait.waited_ns);
      charge.delay_ns = add_saturating(charge.delay_ns, wait.margin_ns);
      iteration.waited_ns = add_saturating(*iteration.waited_ns, wait.waited_ns);
    }
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const GlobalRanks& who_;
  // Executions by rank, on its own time line.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> intervals_;
  std::vector<std::int64_t> busy_ns_;
  std::map<std::uint32_t, ChargedSum> charges_;  // by rank
};

}  // namespace

std::optional<std::int64_t> median_over_ranks(std::vector<std::int64_t>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::sort(values.begin(), values.end());
  constexpr double kMost = 9e18;
  return std::llround(std::clamp(median(values), -kMost, kMost));
}

void measure_iterations(const facts::Facts& facts, const GlobalRanks& who,
                        std::span<const OperationOf> operations,
                        const std::optional<std::size_t>& thread, RankWaits& waits,
                        std::vector<Iteration>& iterations) {
  std::vector<std::uint32_t> indices;
  for (const OperationOf& one : operations) {
    indices.push_back(one.operation);
  }
  Measurer measurer(facts, who);
  const auto add = [&](std::size_t i, std::span<const match::Part> parts,
                       std::span<const model::Execution> executions) {
    Iteration& iteration = iterations[operations[i].iteration];
    measurer.add(indices[i], parts, executions, waits.of(indices[i]), iteration);
    if (i + 1 == operations.size() || operations[i + 1].iteration != operations[i].iteration) {
      measurer.finish(iteration);
    }
  };
  if (thread) {
    facts.ranks_of_each(indices, [&](std::size_t i, const facts::SeenOperation& seen) {
      waits.add(*thread, seen);
      add(i, seen.parts, seen.executions);
    });
  } else {
    match::Executions memory;
    match::read_parts(facts.traces(), facts.matches(), indices, memory, add);
  }
}

}  // namespace ringside::metrics
