// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_PERCENTILE_H
#define RINGSIDE_ANALYZER_METRICS_PERCENTILE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::metrics {

/// The middle value; of an even number of values the mean of the two in the middle. `sorted` is in
/// ascending order and not empty.
template <typename T = std::int64_t>
double median(const std::vector<T>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  const auto upper = static_cast<double>(sorted[middle]);
  return sorted.size() % 2 == 1 ? upper : (static_cast<double>(sorted[middle - 1]) + upper) / 2;
}

/// The same of values in any order; nothing if there are none.
template <typename T>
std::optional<double> median_of(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? std::nullopt : std::optional(median(values));
}

/// The nearest-rank percentile: the least value that at least `percent` (1 to 100) of a hundred
/// values do not exceed. It is always one of the values. `sorted` is in ascending order, not empty.
inline std::int64_t percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_PERCENTILE_H
