// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/points/tightest_points.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ringside::align {
namespace {

constexpr std::size_t kMostTouches = std::size_t{1} << 20;

using Cell = std::pair<std::uint32_t, double>;  // series, and number of the cell

double time_of(const Touch& touch) {
  return touch.start_ns > kNoStart ? touch.start_ns : touch.end_ns;
}

// The point that leaves the least between start and end, for each host and each of its sides.
class Best {
 public:
  void add(std::uint32_t place, std::span<const Touch> point) {
    double last_start_ns = kNoStart;
    double first_end_ns = kNoEnd;
    for (const Touch& touch : point) {
      last_start_ns = std::max(last_start_ns, touch.start_ns);
      first_end_ns = std::min(first_end_ns, touch.end_ns);
    }
    for (const Touch& touch : point) {
      const bool starts = touch.start_ns > kNoStart;
      const bool ends = touch.end_ns < kNoEnd;
      const double left_ns =
          (ends ? touch.end_ns : first_end_ns) - (starts ? touch.start_ns : last_start_ns);
      const std::size_t side = 4 * std::size_t{touch.host} + (starts ? 2 : 0) + (ends ? 1 : 0);
      if (side >= of_side_.size()) {
        of_side_.resize(side + 1);
      }
      Value& best = of_side_[side];
      if (best.place == kNone) {
        used_.push_back(side);
      }
      if (left_ns < best.left_ns || best.place == kNone) {
        best = {left_ns, place};
      }
    }
  }

  void mark(std::vector<bool>& stays) {
    for (const std::size_t side : used_) {
      stays[of_side_[side].place] = true;
      of_side_[side] = {};
    }
    used_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Value {
    double left_ns = 0;
    std::uint32_t place = kNone;
  };
  std::vector<Value> of_side_;     // four of each host: whether it starts, whether it ends
  std::vector<std::size_t> used_;  // of these
};

// Points are numbered by their place again.
void thin(double cell_ns, SyncPoints& made) {
  std::vector<bool> stays(made.points);
  Best best;
  Cell before;
  const auto each_point = [&](const auto& visit) {
    for (std::size_t first = 0; first < made.touches.size();) {
      std::size_t last = first;
      while (last < made.touches.size() && made.touches[last].point == made.touches[first].point) {
        ++last;
      }
      visit(made.touches[first].point, first, last);
      first = last;
    }
  };
  each_point([&](std::uint32_t point, std::size_t first, std::size_t last) {
    const Cell cell(made.series[point], std::floor(time_of(made.touches[first]) / cell_ns));
    if (cell != before) {
      best.mark(stays);
      before = cell;
    }
    best.add(point, std::span(made.touches).subspan(first, last - first));
  });
  best.mark(stays);
  std::size_t touches = 0;
  std::uint32_t points = 0;
  each_point([&](std::uint32_t point, std::size_t first, std::size_t last) {
    if (!stays[point]) {
      return;
    }
    for (std::size_t i = first; i < last; ++i) {
      made.touches[touches] = made.touches[i];
      made.touches[touches++].point = points;
    }
    made.series[points++] = made.series[point];
  });
  made.touches.resize(touches);
  made.series.resize(points);
  made.points = points;
}

}  // namespace

void TightestPoints::thin_if_many(SyncPoints& made) {
  if (made.touches.size() >= std::max(many_, 2 * kMostTouches)) {
    thin_to(kMostTouches, made);
    many_ = 2 * made.touches.size();
  }
}

void TightestPoints::thin_to(std::size_t most_touches, SyncPoints& made) {
  constexpr int kMostRounds = 40;
  for (int round = 0; round < kMostRounds && made.touches.size() > most_touches; ++round) {
    thin(cell_ns_, made);
    cell_ns_ *= made.touches.size() > most_touches ? 2 : 1;
  }
}

}  // namespace ringside::align
