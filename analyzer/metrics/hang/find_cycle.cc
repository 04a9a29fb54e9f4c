// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/find_cycle.h"

#include <algorithm>
#include <cstddef>

namespace ringside::metrics {

std::vector<std::uint32_t> find_cycle(const std::vector<std::vector<std::uint32_t>>& next) {
  std::vector<std::vector<std::uint32_t>> before(next.size());
  std::vector<std::size_t> left(next.size());
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < next.size(); ++i) {
    left[i] = next[i].size();
    for (const std::uint32_t target : next[i]) {
      before[target].push_back(i);
    }
    if (left[i] == 0) {
      ends.push_back(i);
    }
  }
  // All nodes that lead to an end only are taken away. Each that is left leads to a ring.
  while (!ends.empty()) {
    const std::uint32_t end = ends.back();
    ends.pop_back();
    for (const std::uint32_t i : before[end]) {
      if (--left[i] == 0) {
        ends.push_back(i);
      }
    }
  }
  const auto leads_on = [&](std::uint32_t i) { return left[i] > 0; };
  std::vector<std::uint32_t> path;
  std::vector<bool> is_on_path(next.size());
  for (std::uint32_t at = 0; at < next.size(); ++at) {
    if (!leads_on(at)) {
      continue;
    }
    while (!is_on_path[at]) {
      is_on_path[at] = true;
      path.push_back(at);
      at = *std::find_if(next[at].begin(), next[at].end(), leads_on);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    return path;
  }
  return path;
}

}  // namespace ringside::metrics
