// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iteration_figures.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// Measures one iteration after the other, and keeps its memory.
class Measurer {
 public:
  Measurer(const facts::Facts& facts, const GlobalRanks& who, const Measured& measured)
      : matches_(facts.matches()),
        who_(who),
        measured_(measured),
        intervals_(measured.runs ? who.all().size() : 0) {}

  void add(std::uint32_t index, std::span<const match::Part> parts,
           std::span<const model::Execution> executions) {
    const match::MatchedOperation& operation = matches_.operations[index];
    for (std::size_t i = 0; measured_.runs && i < parts.size(); ++i) {
      const model::Execution& one = executions[i];
      if (facts::ran_to_its_end(one)) {
        intervals_[who_.of(operation.communicator, parts[i].member)].emplace_back(*one.start_ns,
                                                                                  *one.end_ns);
      }
    }
    if (measured_.waits == nullptr || match::ranks_expected(matches_, operation) < 2) {
      return;
    }
    ++found_.synchronising;
    if (const auto waits = measured_.waits->of(index)) {
      charge(*waits);
    }
  }

  IterationParts finish() {
    for (auto& intervals : intervals_) {
      if (!intervals.empty()) {
        found_.busy_ns.push_back(union_ns(intervals));
        intervals.clear();
      }
    }
    return std::exchange(found_, {});
  }

 private:
  // By how much a rank came after all others is what the one waited that waited the least.
  void charge(std::span<const ChargedWait> waits) {
    found_.waited_ns = found_.waited_ns.value_or(0);
    found_.decided += waits.empty() ? 0 : 1;
    for (const ChargedWait& wait : waits) {
      IterationParts::Charged& charge = found_.charges[wait.rank];
      charge.waited_ns = add_saturating(charge.waited_ns, wait.waited_ns);
      charge.delay_ns = add_saturating(charge.delay_ns, wait.margin_ns);
      found_.waited_ns = add_saturating(*found_.waited_ns, wait.waited_ns);
    }
  }

  const match::Matches& matches_;
  const GlobalRanks& who_;
  const Measured& measured_;
  // Executions by rank, on its own time line.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> intervals_;
  IterationParts found_;
};

// The same of some iterations, whose operations follow each other.
void measure_some(const facts::Facts& facts, const GlobalRanks& who,
                  std::span<const OperationOf> operations, std::size_t thread,
                  const Measured& measured,
                  const std::function<void(std::uint32_t, IterationParts&&)>& done) {
  std::vector<std::uint32_t> indices;
  for (const OperationOf& one : operations) {
    indices.push_back(one.operation);
  }
  Measurer measurer(facts, who, measured);
  const auto add = [&](std::size_t i, std::span<const match::Part> parts,
                       std::span<const model::Execution> executions) {
    measurer.add(indices[i], parts, executions);
    if (i + 1 == operations.size() || operations[i + 1].iteration != operations[i].iteration) {
      done(operations[i].iteration, measurer.finish());
    }
  };
  if (measured.waits != nullptr && !measured.are_known) {
    facts.ranks_of_each(indices, [&](std::size_t i, const facts::SeenOperation& seen) {
      measured.waits->add(thread, seen);
      add(i, seen.parts, seen.executions);
    });
  } else {
    match::Executions memory;
    match::read_parts(facts.traces(), facts.matches(), indices, memory, add);
  }
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

void IterationParts::take(const IterationParts& more) {
  busy_ns.insert(busy_ns.end(), more.busy_ns.begin(), more.busy_ns.end());
  for (const auto& [rank, charged] : more.charges) {
    Charged& charge = charges[rank];
    charge.waited_ns = add_saturating(charge.waited_ns, charged.waited_ns);
    charge.delay_ns = add_saturating(charge.delay_ns, charged.delay_ns);
  }
  if (more.waited_ns) {
    waited_ns = add_saturating(waited_ns.value_or(0), *more.waited_ns);
  }
  synchronising += more.synchronising;
  decided += more.decided;
}

void fill_in(IterationParts&& parts, const model::Traces& traces, const GlobalRanks& who,
             Iteration& iteration) {
  iteration.busy_ns = median_over_ranks(parts.busy_ns);
  iteration.waited_ns = parts.waited_ns;
  iteration.synchronising = parts.synchronising;
  iteration.decided = parts.decided;
  for (const auto& [rank, charge] : parts.charges) {
    iteration.waited_for.push_back({rank, charge.waited_ns});
  }
  const auto most = std::max_element(
      parts.charges.begin(), parts.charges.end(),
      [](const auto& a, const auto& b) { return a.second.waited_ns < b.second.waited_ns; });
  if (most != parts.charges.end()) {
    const GlobalRank& rank = who.all()[most->first];
    iteration.slowest = rank.label;
    iteration.slowest_host = traces.files[rank.file].process.host;
    iteration.delay_ns = most->second.delay_ns;
  }
}

// Short iterations are read together, since it takes longer to read few operations at a time.
void measure_iterations(const facts::Facts& facts, const GlobalRanks& who,
                        std::vector<OperationOf> operations, std::size_t iterations,
                        const Measured& measured,
                        const std::function<void(std::uint32_t, IterationParts&&)>& done) {
  std::sort(operations.begin(), operations.end());
  constexpr std::size_t kOperations = match::Executions::kAtATime;
  const std::size_t together =
      operations.empty() ? 1
                         : std::max<std::size_t>(kOperations * iterations / operations.size(), 1);
  for_each_on_cores(iterations / together + 1, [&](std::size_t thread, std::size_t portion) {
    const auto at = [&](std::size_t number) {
      return std::partition_point(operations.begin(), operations.end(),
                                  [&](const OperationOf& one) { return one.iteration < number; });
    };
    measure_some(facts, who, {at(portion * together), at((portion + 1) * together)}, thread,
                 measured, done);
  });
}

}  // namespace ringside::metrics
