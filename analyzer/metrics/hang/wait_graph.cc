// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/wait_graph.h"

#include <algorithm>
#include <cstddef>

namespace ringside::metrics {

WaitGraph reversed(const WaitGraph& next) {
  WaitGraph before(next.size());
  for (std::uint32_t i = 0; i < next.size(); ++i) {
    for (const std::uint32_t target : next[i]) {
      before[target].push_back(i);
    }
  }
  return before;
}

// All nodes that lead to an end only are taken away. Each that is left leads to a ring.
std::vector<bool> lead_to_ring(const WaitGraph& next) {
  const WaitGraph before = reversed(next);
  std::vector<std::size_t> left(next.size());
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < next.size(); ++i) {
    left[i] = next[i].size();
    if (left[i] == 0) {
      ends.push_back(i);
    }
  }
  while (!ends.empty()) {
    const std::uint32_t end = ends.back();
    ends.pop_back();
    for (const std::uint32_t i : before[end]) {
      if (--left[i] == 0) {
        ends.push_back(i);
      }
    }
  }
  std::vector<bool> lead(next.size());
  std::transform(left.begin(), left.end(), lead.begin(),
                 [](std::size_t count) { return count > 0; });
  return lead;
}

std::vector<std::uint32_t> find_cycle(const WaitGraph& next) {
  const std::vector<bool> leads_on = lead_to_ring(next);
  std::vector<std::uint32_t> path;
  std::vector<bool> is_on_path(next.size());
  const auto first = std::find(leads_on.begin(), leads_on.end(), true);
  if (first == leads_on.end()) {
    return path;
  }
  auto at = static_cast<std::uint32_t>(first - leads_on.begin());
  while (!is_on_path[at]) {
    is_on_path[at] = true;
    path.push_back(at);
    at = *std::find_if(next[at].begin(), next[at].end(),
                       [&](std::uint32_t target) { return leads_on[target]; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  return path;
}

std::vector<bool> reached_from(const WaitGraph& next, const std::vector<std::uint32_t>& starts) {
  std::vector<bool> is_reached(next.size());
  std::vector<std::uint32_t> open = starts;
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (!is_reached[node]) {
      is_reached[node] = true;
      open.insert(open.end(), next[node].begin(), next[node].end());
    }
  }
  return is_reached;
}

}  // namespace ringside::metrics
