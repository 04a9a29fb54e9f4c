// SPDX-License-Identifier: Apache-2.0
//
// Bounds the number of points: of those of one series that are near in time, the tightest stay.
#ifndef RINGSIDE_ANALYZER_ALIGN_POINTS_TIGHTEST_POINTS_H
#define RINGSIDE_ANALYZER_ALIGN_POINTS_TIGHTEST_POINTS_H

#include <cstddef>

#include "analyzer/align/points/sync_points.h"

namespace ringside::align {

/// To leave out points leaves bounds wider than need be, and never wrong.
class TightestPoints {
 public:
  /// Takes points out if there are more than a million touches or so. In each cell of time a point
  /// stays if it leaves some host the least time between a start and an end. The cells are 100 ms
  /// long, and longer only where more would be left.
  void thin_if_many(SyncPoints& made);
  /// Likewise, to as many touches as asked for, if that can be.
  void thin_to(std::size_t most_touches, SyncPoints& made);

 private:
  double cell_ns_ = 1e8;
  std::size_t many_ = 0;  // touches from which on to look again
};

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_POINTS_TIGHTEST_POINTS_H
