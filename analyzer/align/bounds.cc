// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/bounds.h"

#include <algorithm>
#include <cmath>

namespace ringside::align {
namespace {

constexpr std::size_t kMostCells = 2048;
constexpr int kMostPasses = 32;
// Changes below it are those of rounding.
constexpr double kLeastChange_ns = 0.01;

class Propagation {
 public:
  Propagation(const SyncPoints& points, const Grid& grid, const std::vector<Line>& lines,
              std::uint32_t reference, double wander)
      : points_(points), grid_(grid), lines_(lines), reference_(reference), wander_(wander) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    solution_.hosts.resize(lines.size());
    for (Bounds& host : solution_.hosts) {
      host.lower_ns.assign(grid.cells, -kNever);
      host.upper_ns.assign(grid.cells, kNever);
      host.lower_by.assign(grid.cells, PointKind::kAllReduce);
      host.upper_by.assign(grid.cells, PointKind::kAllReduce);
    }
    solution_.hosts[reference].lower_ns.assign(grid.cells, 0.0);
    solution_.hosts[reference].upper_ns.assign(grid.cells, 0.0);
  }

  Solution run() {
    for (int pass = 0; pass < kMostPasses && !solution_.is_contradictory; ++pass) {
      if (!visit_points()) {
        break;
      }
      for (Bounds& host : solution_.hosts) {
        spread(host);
      }
    }
    return std::move(solution_);
  }

 private:
  // A time of a host on the common clock, but for what is left beside its line.
  struct Placed {
    double time_ns;
    std::size_t cell;
    double slack_ns;
  };
  Placed place(const Touch& touch, double time_ns) const {
    const std::size_t cell = grid_.cell_of(time_ns);
    return {time_ns + lines_[touch.host].at(time_ns), cell,
            wander_ * std::abs(time_ns - grid_.center_ns(cell))};
  }

  bool visit_points() {
    bool changed = false;
    const auto& touches = points_.touches;
    for (std::size_t begin = 0; begin < touches.size();) {
      std::size_t end = begin;
      while (end < touches.size() && touches[end].point == touches[begin].point) {
        ++end;
      }
      changed = visit(begin, end) || changed;
      begin = end;
    }
    return changed;
  }

  bool visit(std::size_t begin, std::size_t end) {
    double earliest_ns = kNoStart;
    double latest_ns = kNoEnd;
    for (std::size_t i = begin; i < end; ++i) {
      const Touch& touch = points_.touches[i];
      const Bounds& host = solution_.hosts[touch.host];
      if (touch.start_ns > kNoStart) {
        const Placed start = place(touch, touch.start_ns);
        earliest_ns =
            std::max(earliest_ns, start.time_ns + host.lower_ns[start.cell] - start.slack_ns);
      }
      if (touch.end_ns < kNoEnd) {
        const Placed stop = place(touch, touch.end_ns);
        latest_ns = std::min(latest_ns, stop.time_ns + host.upper_ns[stop.cell] + stop.slack_ns);
      }
    }
    bool changed = false;
    for (std::size_t i = begin; i < end; ++i) {
      const Touch& touch = points_.touches[i];
      if (touch.host == reference_) {
        continue;
      }
      Bounds& host = solution_.hosts[touch.host];
      if (touch.end_ns < kNoEnd && earliest_ns > kNoStart) {
        const Placed stop = place(touch, touch.end_ns);
        const double lower_ns = earliest_ns - stop.time_ns - stop.slack_ns;
        changed = raise(host, stop.cell, lower_ns, touch.kind) || changed;
      }
      if (touch.start_ns > kNoStart && latest_ns < kNoEnd) {
        const Placed start = place(touch, touch.start_ns);
        const double upper_ns = latest_ns - start.time_ns + start.slack_ns;
        changed = lower(host, start.cell, upper_ns, touch.kind) || changed;
      }
    }
    return changed;
  }

  bool raise(Bounds& host, std::size_t cell, double bound_ns, PointKind kind) {
    if (!(bound_ns > host.lower_ns[cell] + kLeastChange_ns)) {
      return false;
    }
    host.lower_ns[cell] = bound_ns;
    host.lower_by[cell] = kind;
    check(host, cell);
    return true;
  }

  bool lower(Bounds& host, std::size_t cell, double bound_ns, PointKind kind) {
    if (!(bound_ns < host.upper_ns[cell] - kLeastChange_ns)) {
      return false;
    }
    host.upper_ns[cell] = bound_ns;
    host.upper_by[cell] = kind;
    check(host, cell);
    return true;
  }

  void check(const Bounds& host, std::size_t cell) {
    solution_.is_contradictory =
        solution_.is_contradictory || host.lower_ns[cell] > host.upper_ns[cell] + kLeastChange_ns;
  }

  void spread(Bounds& host) {
    const double slack_ns = wander_ * grid_.cell_ns;
    for (std::size_t i = 1; i < grid_.cells; ++i) {
      hand_on(host, i - 1, i, slack_ns);
    }
    for (std::size_t i = grid_.cells - 1; i > 0; --i) {
      hand_on(host, i, i - 1, slack_ns);
    }
  }

  void hand_on(Bounds& host, std::size_t from, std::size_t to, double slack_ns) {
    raise(host, to, host.lower_ns[from] - slack_ns, host.lower_by[from]);
    lower(host, to, host.upper_ns[from] + slack_ns, host.upper_by[from]);
  }

  const SyncPoints& points_;
  const Grid& grid_;
  const std::vector<Line>& lines_;
  const std::uint32_t reference_;
  const double wander_;
  Solution solution_;
};

}  // namespace

std::size_t Grid::cell_of(double time_ns) const {
  const double at = (time_ns - begin_ns) / cell_ns;
  return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(cells - 1)));
}

Grid make_grid(const SyncPoints& points) {
  double first_ns = std::numeric_limits<double>::infinity();
  double last_ns = -first_ns;
  for (const Touch& touch : points.touches) {
    for (const double time_ns : {touch.start_ns, touch.end_ns}) {
      if (std::isfinite(time_ns)) {
        first_ns = std::min(first_ns, time_ns);
        last_ns = std::max(last_ns, time_ns);
      }
    }
  }
  Grid grid;
  if (last_ns > first_ns) {
    grid.begin_ns = first_ns;
    grid.cells = std::clamp<std::size_t>(points.points, 1, kMostCells);
    grid.cell_ns = (last_ns - first_ns) / static_cast<double>(grid.cells);
  }
  return grid;
}

Solution propagate(const SyncPoints& points, const Grid& grid, const std::vector<Line>& lines,
                   std::uint32_t reference, double wander) {
  return Propagation(points, grid, lines, reference, wander).run();
}

}  // namespace ringside::align
