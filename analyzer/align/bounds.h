// SPDX-License-Identifier: Apache-2.0
//
// Bounds of each host's offset over time, from the points that hosts have in common.
#ifndef RINGSIDE_ANALYZER_ALIGN_BOUNDS_H
#define RINGSIDE_ANALYZER_ALIGN_BOUNDS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/align/sync_points.h"

namespace ringside::align {

/// A host's own time line in cells of equal length.
struct Grid {
  double begin_ns = 0;
  double cell_ns = 1;
  std::size_t cells = 1;

  std::size_t cell_of(double time_ns) const;
  double center_ns(std::size_t cell) const {
    return begin_ns + (static_cast<double>(cell) + 0.5) * cell_ns;
  }
};

/// Cells for all the times of the points.
Grid make_grid(const SyncPoints& points);

/// The mean of an offset: a line over the host's own time.
struct Line {
  double at_zero_ns = 0;
  double slope = 0;
  double at(double time_ns) const { return at_zero_ns + slope * time_ns; }
};

/// What the offset less its line is at least and at most at the center of each cell.
struct Bounds {
  std::vector<double> lower_ns, upper_ns;
  std::vector<PointKind> lower_by, upper_by;

  bool is_bounded(std::size_t cell) const {
    return lower_ns[cell] > -std::numeric_limits<double>::infinity() &&
           upper_ns[cell] < std::numeric_limits<double>::infinity();
  }
};

struct Solution {
  std::vector<Bounds> hosts;
  bool is_contradictory = false;  ///< somewhere the least is above the most
};

/// Passes bounds from host to host through the points they share, and along each host's time with a
/// slack of `wander` (ns per ns), until nothing changes: the shortest paths of a graph of
/// difference constraints. Time: passes x (touches + hosts x cells).
Solution propagate(const SyncPoints& points, const Grid& grid, const std::vector<Line>& lines,
                   std::uint32_t reference, double wander);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_BOUNDS_H
