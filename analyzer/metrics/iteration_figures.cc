// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iteration_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// What the others waited for one rank.
struct Charge {
  std::int64_t waited_ns = 0;
  std::int64_t delay_ns = 0;
};

// An execution, on the rank's own time line.
struct Interval {
  std::uint32_t rank = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

std::optional<std::int64_t> busy_of(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return std::tie(a.rank, a.start_ns, a.end_ns) < std::tie(b.rank, b.start_ns, b.end_ns);
  });
  std::vector<std::int64_t> busy_ns;
  for (auto at = intervals.begin(); at != intervals.end();) {
    const std::uint32_t rank = at->rank;
    std::int64_t covered_ns = at->start_ns;  // all before is counted
    std::int64_t sum_ns = 0;
    for (; at != intervals.end() && at->rank == rank; ++at) {
      const std::int64_t from_ns = std::max(at->start_ns, covered_ns);
      if (at->end_ns > from_ns) {
        sum_ns = add_saturating(sum_ns, subtract_saturating(at->end_ns, from_ns));
        covered_ns = at->end_ns;
      }
    }
    busy_ns.push_back(sum_ns);
  }
  return median_over_ranks(busy_ns);
}

class Measurer {
 public:
  Measurer(const model::Traces& traces, const match::Matches& matches,
           const align::Alignment& alignment, const GlobalRanks& who, Iteration& iteration)
      : traces_(traces),
        matches_(matches),
        alignment_(alignment),
        who_(who),
        iteration_(iteration) {}

  void add(const match::MatchedOperation& operation) {
    for (const match::Part& part : match::parts_of(matches_, operation)) {
      const model::Operation& one = match::operation_of(traces_, part);
      if (ran_to_its_end(one)) {
        intervals_.push_back(
            {who_.of(operation.communicator, part.member), *one.start_ns, *one.end_ns});
      }
    }
    charge(operation);
  }

  void finish() {
    iteration_.busy_ns = busy_of(intervals_);
    for (const auto& [rank, charge] : charges_) {
      iteration_.waited_for.push_back({rank, charge.waited_ns});
    }
    const auto most = std::max_element(
        charges_.begin(), charges_.end(),
        [](const auto& a, const auto& b) { return a.second.waited_ns < b.second.waited_ns; });
    if (most != charges_.end()) {
      const GlobalRank& rank = who_.all()[most->first];
      iteration_.slowest = rank.label;
      iteration_.slowest_host = traces_.files[rank.file].process.host;
      iteration_.delay_ns = most->second.delay_ns;
    }
  }

 private:
  void charge(const match::MatchedOperation& operation) {
    if (!is_synchronising(traces_, operation) || match::ranks_expected(matches_, operation) < 2) {
      return;
    }
    ++iteration_.synchronising;
    if (match::ranks_seen(matches_, operation) < match::ranks_expected(matches_, operation)) {
      return;
    }
    const auto timing = timing_of(traces_, matches_, alignment_, operation);
    if (!timing || timing->is_impossible || !timing->uncertainty_ns) {
      return;
    }
    iteration_.waited_ns = iteration_.waited_ns.value_or(0);
    if (timing->is_decided()) {
      ++iteration_.decided;
      const std::int64_t waited_ns = timing->waited_ns();
      const match::Part& last = matches_.parts[timing->arrivals.back().part];
      Charge& of_last = charges_[who_.of(operation.communicator, last.member)];
      of_last.waited_ns = add_saturating(of_last.waited_ns, waited_ns);
      of_last.delay_ns = add_saturating(of_last.delay_ns, timing->margin_ns());
      iteration_.waited_ns = add_saturating(*iteration_.waited_ns, waited_ns);
    }
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks& who_;
  Iteration& iteration_;
  std::vector<Interval> intervals_;
  std::map<std::uint32_t, Charge> charges_;  // by rank
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

void measure_iteration(const model::Traces& traces, const match::Matches& matches,
                       const align::Alignment& alignment, const GlobalRanks& who,
                       const std::vector<std::uint32_t>& operations, Iteration& iteration) {
  Measurer measurer(traces, matches, alignment, who, iteration);
  for (const std::uint32_t operation : operations) {
    measurer.add(matches.operations[operation]);
  }
  measurer.finish();
}

}  // namespace ringside::metrics
