// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/row_times.h"

#include <algorithm>

#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// Of a time, as a part of it: more uncertainty would be seen in a bandwidth.
constexpr std::int64_t kTolerance = 10;

}  // namespace

std::optional<Distribution> distribution_of(std::vector<std::int64_t>& durations_ns) {
  if (durations_ns.empty()) {
    return std::nullopt;
  }
  std::sort(durations_ns.begin(), durations_ns.end());
  return Distribution{durations_ns.front(), median(durations_ns), percentile(durations_ns, 90),
                      percentile(durations_ns, 99), durations_ns.back()};
}

RowTimes::Taken RowTimes::add(const model::Traces& traces, const match::Matches& matches,
                              const align::Alignment& alignment,
                              const match::MatchedOperation& operation, std::int64_t least_ns) {
  const bool has_all =
      match::ranks_seen(matches, operation) >= match::ranks_expected(matches, operation);
  const auto timing = timing_of(traces, matches, alignment, operation);
  if (timing && timing->is_impossible) {
    return Taken::kExcluded;
  }
  if (timing && timing->has_ends) {
    for (const Arrival& arrival : timing->arrivals) {
      wall_ns_.push_back(
          std::max<std::int64_t>(subtract_saturating(*arrival.end_ns, arrival.start_ns), 0));
    }
  } else {
    wall_ns_.push_back(least_ns);
  }
  if (!has_all || !timing || !timing->has_ends || !timing->uncertainty_ns ||
      timing->busy_ns() < 0 || *timing->uncertainty_ns > timing->busy_ns() / kTolerance) {
    busy_ns_.push_back(least_ns);
    // A rank alone has nobody to wait for, and no other clock.
    return timing || !has_all ? Taken::kLeast : Taken::kBusy;
  }
  busy_ns_.push_back(timing->busy_ns());
  for (const Arrival& arrival : timing->arrivals) {
    wait_ns_.push_back(timing->last_start_ns() - arrival.start_ns);
  }
  return Taken::kBusy;
}

}  // namespace ringside::metrics
