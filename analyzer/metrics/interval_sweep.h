// SPDX-License-Identifier: Apache-2.0
//
// Finds which of several intervals, that may overlap, run at each time.
#ifndef RINGSIDE_ANALYZER_METRICS_INTERVAL_SWEEP_H
#define RINGSIDE_ANALYZER_METRICS_INTERVAL_SWEEP_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

/// The beginning or the end of an interval of some kind.
struct Edge {
  std::int64_t time_ns = 0;
  int change = 0;  // +1 begins, -1 ends
  std::uint32_t kind = 0;
};

inline void add_edges(std::vector<Edge>& edges, std::uint32_t kind, std::int64_t start_ns,
                      std::int64_t end_ns) {
  edges.push_back({start_ns, 1, kind});
  edges.push_back({end_ns, -1, kind});
}

/// Calls `between(duration_ns, running)` for the time between each edge and the next; `running` has
/// the kinds that run there, and how many intervals of each. Returns the time from the first edge
/// to the last. Intervals without length change nothing but that.
template <typename Between>
std::int64_t sweep(std::vector<Edge>& edges, Between between) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.time_ns, a.change, a.kind) < std::tie(b.time_ns, b.change, b.kind);
  });
  std::vector<std::pair<std::uint32_t, int>> running;  // a few, by kind
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i > 0 && edges[i].time_ns > edges[i - 1].time_ns) {
      between(subtract_saturating(edges[i].time_ns, edges[i - 1].time_ns), std::as_const(running));
    }
    auto place = std::find_if(running.begin(), running.end(),
                              [&](const auto& one) { return one.first >= edges[i].kind; });
    if (place == running.end() || place->first != edges[i].kind) {
      place = running.insert(place, {edges[i].kind, 0});
    }
    if ((place->second += edges[i].change) == 0) {
      running.erase(place);
    }
  }
  return edges.empty() ? 0 : subtract_saturating(edges.back().time_ns, edges.front().time_ns);
}

/// Sorts what comes in a few runs that ascend, as times do that several threads have collected.
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

/// The time in which at least one of the intervals runs, without an edge for each of their ends:
/// links have many. They mostly come nearly in order.
inline std::int64_t union_ns(std::vector<std::pair<std::int64_t, std::int64_t>>& intervals) {
  merge_runs(intervals);
  std::int64_t total_ns = 0;
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::min();
  for (const auto& [start_ns, end_ns] : intervals) {
    const std::int64_t from_ns = std::max(start_ns, until_ns);
    if (end_ns > from_ns) {
      total_ns = add_saturating(total_ns, subtract_saturating(end_ns, from_ns));
      until_ns = end_ns;
    }
  }
  return total_ns;
}

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_INTERVAL_SWEEP_H
