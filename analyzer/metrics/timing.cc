// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/timing.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

#include "analyzer/metrics/saturating.h"

namespace ringside::metrics {

bool ran_to_its_end(const model::Operation& operation) {
  const bool told = operation.times_from == model::TimesFrom::kGpu ||
                    operation.times_from == model::TimesFrom::kProxy;
  return told && operation.start_ns && operation.end_ns &&
         operation.state == model::State::kCompleted;
}

std::int64_t Timing::waited_ns() const {
  std::int64_t total = 0;
  for (const Arrival& arrival : arrivals) {
    total = add_saturating(total, last_start_ns() - arrival.start_ns);
  }
  return total;
}

bool is_synchronising(const model::Traces& traces, const match::MatchedOperation& operation) {
  if (operation.way == match::Way::kGroup) {
    return operation.pattern == match::Pattern::kAlltoAll ||
           operation.pattern == match::Pattern::kAlltoAllv;
  }
  const std::string_view func = traces.names.text(operation.func);
  return func == "AllReduce" || func == "AllGather" || func == "ReduceScatter" ||
         func == "AlltoAll";
}

std::optional<Timing> timing_of(const model::Traces& traces, const match::Matches& matches,
                                const align::Alignment& alignment,
                                const match::MatchedOperation& operation) {
  if (operation.part_count < 2) {
    return std::nullopt;
  }
  Timing timing;
  const std::size_t end = operation.first_part + operation.part_count;
  for (std::size_t i = operation.first_part; i < end; ++i) {
    if (!ran_to_its_end(match::operation_of(traces, matches.parts[i]))) {
      timing.from = ArrivalFrom::kCall;
    }
  }
  timing.has_ends = timing.from == ArrivalFrom::kExecution;
  // A group has several parts of each rank, one after the other: it comes with its first and goes
  // with its last.
  const std::size_t members = matches.communicators[operation.communicator].members.size();
  timing.arrivals.reserve(std::min<std::size_t>(operation.part_count, members));
  for (std::size_t i = operation.first_part; i < end; ++i) {
    const match::Part& part = matches.parts[i];
    const model::Operation& one = match::operation_of(traces, part);
    const auto& start_ns = timing.has_ends ? one.start_ns : one.enqueue_start_ns;
    if (!start_ns) {
      return std::nullopt;
    }
    const std::int64_t common_ns = alignment.to_common_ns(part.file, *start_ns);
    if (timing.arrivals.empty() ||
        matches.parts[timing.arrivals.back().part].member != part.member) {
      timing.arrivals.push_back({static_cast<std::uint32_t>(i), common_ns, std::nullopt});
    }
    Arrival& arrival = timing.arrivals.back();
    arrival.start_ns = std::min(arrival.start_ns, common_ns);
    if (timing.has_ends) {
      const std::int64_t end_ns = alignment.to_common_ns(part.file, *one.end_ns);
      arrival.end_ns = std::max(arrival.end_ns.value_or(end_ns), end_ns);
    }
  }
  if (timing.arrivals.size() < 2) {
    return std::nullopt;
  }
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
  timing.last_end_ns = std::numeric_limits<std::int64_t>::min();
  for (const Arrival& arrival : timing.arrivals) {
    if (arrival.end_ns) {
      first_end_ns = std::min(first_end_ns, *arrival.end_ns);
      timing.last_end_ns = std::max(timing.last_end_ns, *arrival.end_ns);
    }
  }
  std::sort(timing.arrivals.begin(), timing.arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.start_ns, a.part) < std::tie(b.start_ns, b.part);
  });
  // The last must be later than any other: the least certain of these comparisons counts.
  const match::Part& last = matches.parts[timing.arrivals.back().part];
  timing.uncertainty_ns = 0;
  for (std::size_t i = 0; i + 1 < timing.arrivals.size() && timing.uncertainty_ns; ++i) {
    const auto uncertainty_ns = alignment.uncertainty_ns(
        last.file, matches.parts[timing.arrivals[i].part].file, timing.last_start_ns());
    // One that came so early that the clocks do not matter.
    const std::int64_t ahead_ns = timing.last_start_ns() - timing.arrivals[i].start_ns;
    if (!uncertainty_ns) {
      timing.uncertainty_ns.reset();
    } else if (ahead_ns - *uncertainty_ns < timing.margin_ns() - *timing.uncertainty_ns) {
      timing.uncertainty_ns = timing.margin_ns() - (ahead_ns - *uncertainty_ns);
    }
  }
  const bool ends_before_start =
      timing.has_ends && is_synchronising(traces, operation) &&
      first_end_ns < timing.last_start_ns() - kImpossible_ns - timing.uncertainty_ns.value_or(0);
  timing.is_impossible =
      ends_before_start || timing.waited_ns() == std::numeric_limits<std::int64_t>::max();
  return timing;
}

}  // namespace ringside::metrics
