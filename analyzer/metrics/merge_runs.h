// SPDX-License-Identifier: Apache-2.0
//
// Sorts what comes in a few runs that ascend, as times do that several threads have collected.
#ifndef RINGSIDE_ANALYZER_METRICS_MERGE_RUNS_H
#define RINGSIDE_ANALYZER_METRICS_MERGE_RUNS_H

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ringside::metrics {

template <typename T>
void merge_runs(std::vector<T>& values) {
  std::vector<std::size_t> ends = {0};  // of runs, behind the beginning of the first
  for (std::size_t i = 1; i <= values.size(); ++i) {
    if (i == values.size() || values[i] < values[i - 1]) {
      ends.push_back(i);
    }
  }
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  while (ends.size() > 2) {
    std::vector<std::size_t> fewer = {0};
    for (std::size_t i = 2; i < ends.size(); i += 2) {
      std::inplace_merge(at(ends[i - 2]), at(ends[i - 1]), at(ends[i]));
      fewer.push_back(ends[i]);
    }
    if (fewer.back() != values.size()) {
      fewer.push_back(values.size());
    }
    ends = std::move(fewer);
  }
}

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MERGE_RUNS_H
