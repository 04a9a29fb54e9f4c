// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iteration_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// The others' waits for one rank.
struct ChargedWait {
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

  void add(const facts::SeenOperation& seen, Iteration& iteration) {
    const match::MatchedOperation& operation = matches_.operations[seen.index];
    const auto parts = match::parts_of(matches_, operation);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const model::Execution& one = seen.executions[i];
      if (facts::ran_to_its_end(one)) {
        intervals_[who_.of(operation.communicator, parts[i].member)].emplace_back(*one.start_ns,
                                                                                  *one.end_ns);
      }
    }
    charge(seen, operation, iteration);
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
  // Each rank's waiting is charged to the rank for which it surely waited. By how much that one
  // came after all others is what the one waited that waited the least.
  void charge(const facts::SeenOperation& seen, const match::MatchedOperation& operation,
              Iteration& iteration) {
    if (match::ranks_expected(matches_, operation) < 2) {
      return;
    }
    ++iteration.synchronising;
    const facts::OperationFacts& known = seen.facts;
    const std::vector<facts::RankTimes>& rows = seen.rows;
    if (known.is_impossible || !known.has_all_ranks || known.ranks_timed < 2) {
      return;
    }
    iteration.waited_ns = iteration.waited_ns.value_or(0);
    std::map<std::uint32_t, std::int64_t> margins_ns;  // by row of the rank waited for
    for (const facts::RankTimes& row : rows) {
      if (row.waits_for == facts::RankTimes::kNobody) {
        continue;
      }
      const std::uint32_t rank = who_.of(operation.communicator, rows[row.waits_for].member);
      std::int64_t& waited_ns = charges_[rank].waited_ns;
      waited_ns = add_saturating(waited_ns, row.best_wait_ns);
      iteration.waited_ns = add_saturating(*iteration.waited_ns, row.best_wait_ns);
      std::int64_t& margin_ns =
          margins_ns.try_emplace(row.waits_for, row.best_wait_ns).first->second;
      margin_ns = std::min(margin_ns, row.best_wait_ns);
    }
    iteration.decided += margins_ns.empty() ? 0 : 1;
    for (const auto& [row, margin_ns] : margins_ns) {
      std::int64_t& delay_ns = charges_[who_.of(operation.communicator, rows[row].member)].delay_ns;
      delay_ns = add_saturating(delay_ns, margin_ns);
    }
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const GlobalRanks& who_;
  // Executions by rank, on its own time line.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> intervals_;
  std::vector<std::int64_t> busy_ns_;
  std::map<std::uint32_t, ChargedWait> charges_;  // by rank
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
                        std::vector<Iteration>& iterations) {
  std::vector<std::uint32_t> indices;
  for (const OperationOf& one : operations) {
    indices.push_back(one.operation);
  }
  Measurer measurer(facts, who);
  facts.ranks_of_each(indices, [&](std::size_t i, const facts::SeenOperation& seen) {
    Iteration& iteration = iterations[operations[i].iteration];
    measurer.add(seen, iteration);
    if (i + 1 == operations.size() || operations[i + 1].iteration != operations[i].iteration) {
      measurer.finish(iteration);
    }
  });
}

}  // namespace ringside::metrics
