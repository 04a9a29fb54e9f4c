// SPDX-License-Identifier: Apache-2.0
//
// The quantiles of durations that are known exactly.
#ifndef RINGSIDE_ANALYZER_METRICS_ITERATIONS_DISTRIBUTION_H
#define RINGSIDE_ANALYZER_METRICS_ITERATIONS_DISTRIBUTION_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/metrics/percentile.h"

namespace ringside::metrics {

/// Percentiles are nearest-rank; the median is the middle or the mean of two.
struct Distribution {
  std::int64_t min_ns = 0;
  double median_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

/// Nothing of no durations. Sorts them.
inline std::optional<Distribution> distribution_of(std::vector<std::int64_t>& durations_ns) {
  if (durations_ns.empty()) {
    return std::nullopt;
  }
  std::sort(durations_ns.begin(), durations_ns.end());
  return Distribution{durations_ns.front(), median(durations_ns), percentile(durations_ns, 90),
                      percentile(durations_ns, 99), durations_ns.back()};
}

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ITERATIONS_DISTRIBUTION_H
