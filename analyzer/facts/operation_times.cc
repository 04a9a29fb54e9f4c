// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/operation_times.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "analyzer/facts/latest.h"
#include "analyzer/model/nth_value.h"

namespace ringside::facts {
namespace {

// The arrivals as one row sees them.
struct Seen {
  Seen(const Arrivals& arrivals, std::span<const RankTimes> rows, std::uint32_t row)
      : needed(arrivals.needed.seen_from(rows, row)),
        possible(arrivals.possible.seen_from(rows, row)) {}

  Latest::Moment needed;
  Latest::Moment possible;
};

class Finder {
 public:
  Finder(const FlowOfOperation& flow, bool has_all_ranks, std::span<RankTimes> rows,
         Arrivals& arrivals)
      : flow_(flow), has_all_ranks_(has_all_ranks), rows_(rows), shared_(arrivals) {}

  OperationTimes find() {
    find_waits();
    if (flow_.flow == Flow::kFromRoot && flow_.root != RankTimes::kNobody) {
      find_from_root();
    } else if (flow_.flow == Flow::kToRoot && flow_.root != RankTimes::kNobody) {
      find_to_root();
    }
    if (!times_.busy) {
      find_shortest();
    }
    if (times_.busy && !(has_all_ranks_ && is_all_seen())) {
      times_.busy->least_ns = 0;  // one that was not seen may have come last
    }
    if (times_.busy) {
      times_.busy->least_ns =
          std::clamp<std::int64_t>(times_.busy->least_ns, 0, times_.best_busy_ns);
      times_.busy->most_ns = std::max(times_.busy->most_ns, times_.best_busy_ns);
    }
    return times_;
  }

 private:
  std::uint32_t count() const { return static_cast<std::uint32_t>(rows_.size()); }

  bool is_all_seen() const {
    return std::all_of(rows_.begin(), rows_.end(),
                       [](const RankTimes& times) { return times.has_execution; });
  }

  // A rank waits until the last that it needs, but never longer than it was there itself.
  void wait(std::uint32_t row, const Arrivals& arrivals, const Seen& seen) {
    RankTimes& times = rows_[row];
    if (!times.has_execution) {
      return;
    }
    const std::int64_t wall_ns = times.most_wall_ns();
    const Latest::Moment& needed = seen.needed;
    if (needed.row != RankTimes::kNobody && needed.time_ns != Latest::kNever) {
      const std::int64_t surely_ns = subtract_saturating(needed.time_ns, times.latest_ns());
      times.wait.least_ns = std::clamp<std::int64_t>(surely_ns, 0, times.wall_ns());
      times.waits_for = times.wait.least_ns > 0 ? needed.row : RankTimes::kNobody;
      const std::int64_t end_ns = add_saturating(times.end_ns, times.error.early_ns);
      times_.is_impossible =
          times_.is_impossible || subtract_saturating(end_ns, needed.time_ns) < -kImpossible_ns;
    }
    const Latest::Moment& possible = seen.possible;
    if (arrivals.has_unknown || !has_all_ranks_ || possible.time_ns == Latest::kUnknown) {
      times.wait.most_ns = wall_ns;
    } else if (possible.row != RankTimes::kNobody) {
      const std::int64_t longest_ns = subtract_saturating(possible.time_ns, times.earliest_ns());
      times.wait.most_ns = std::clamp<std::int64_t>(longest_ns, times.wait.least_ns, wall_ns);
    }
    times.wait.most_ns = std::max(times.wait.most_ns, times.wait.least_ns);
    times.best_wait_ns = std::clamp(
        std::min(subtract_saturating(arrivals.shown_ns, times.arrival_ns), times.wall_ns()),
        times.wait.least_ns, times.wait.most_ns);
  }

  void find_waits() {
    if (flow_.flow == Flow::kToRoot) {
      find_waits_of_root();
    } else if (flow_.flow == Flow::kLinks) {
      find_waits_of_links();
    } else {
      find_shared_waits();
    }
  }

  // All wait for the same ranks: surely for all, for the root, or for nobody that is known.
  void find_shared_waits() {
    const bool is_all = flow_.flow == Flow::kAll;
    const bool has_root = flow_.flow == Flow::kFromRoot;
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (is_all || (has_root && i == flow_.root)) {
        shared_.need(rows_, i);
      } else {
        shared_.may_need(rows_, i);
      }
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      wait(i, shared_, Seen(shared_, rows_, i));
    }
  }

  void find_waits_of_root() {
    Arrivals arrivals;
    Arrivals others;
    for (std::uint32_t i = 0; i < count(); ++i) {
      arrivals.need(rows_, i);
      others.may_need(rows_, i);
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      const Arrivals& of_row = i == flow_.root ? arrivals : others;
      wait(i, of_row, Seen(of_row, rows_, i));
    }
  }

  void find_waits_of_links() {
    std::vector<Arrivals> arrivals(rows_.size());
    for (const Link& link : flow_.links) {
      arrivals[link.destination].need(rows_, link.source);
      arrivals[link.source].may_need(rows_, link.destination);
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      wait(i, arrivals[i], Seen(arrivals[i], rows_, i));
    }
  }

  // The last rank to come waits for nobody, so the shortest time of a rank is that of the data. It
  // is by the clock of that rank alone.
  void find_shortest() {
    for (RankTimes& times : rows_) {
      if (!times.has_execution) {
        continue;
      }
      times.shows_time = true;
      if (!times_.busy) {
        times_.busy = Interval{times.least_wall_ns(), times.most_wall_ns()};
        times_.best_busy_ns = times.seen_wall_ns();
      }
      times_.busy->least_ns = std::min(times_.busy->least_ns, times.least_wall_ns());
      times_.busy->most_ns = std::min(times_.busy->most_ns, times.most_wall_ns());
      times_.best_busy_ns = std::min(times_.best_busy_ns, times.seen_wall_ns());
    }
  }

  // How far the end of a row less the begin of another one may be from the truth; kUnknownClock_ns
  // if nothing bounds their clocks.
  static std::int64_t error_ns(const RankTimes& a, const RankTimes& b) {
    const std::int64_t clock_ns = clock_error_ns(a, b);
    const bool is_on_clock = a.error.late_ns != align::kUnknownError.late_ns &&
                             b.error.late_ns != align::kUnknownError.late_ns;
    return clock_ns == kUnknownClock_ns || !is_on_clock
               ? kUnknownClock_ns
               : add_saturating(clock_ns,
                                add_saturating(std::max(a.error.early_ns, b.error.early_ns),
                                               std::max(a.error.late_ns, b.error.late_ns)));
  }

  // From the root's first data to the end of a rank, but not before that rank was there: that is
  // the time of one of the ranks, and of all it is the middle one, of two the lower. The root's own
  // time says only when its data was in buffers.
  void find_from_root() {
    const RankTimes& root = rows_[flow_.root];
    if (!root.has_execution) {
      return;
    }
    std::vector<std::int64_t> all_ns;
    std::int64_t longest_ns = 0;
    std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = 0; i < count(); ++i) {
      RankTimes& times = rows_[i];
      if (i == flow_.root || !times.has_execution) {
        continue;
      }
      times.shows_time = true;
      const std::int64_t off_ns = error_ns(times, root);
      if (off_ns == kUnknownClock_ns) {
        all_ns.push_back(times.seen_wall_ns());
        longest_ns = std::max({longest_ns, times.most_wall_ns(), root.most_wall_ns()});
        shortest_ns = std::min({shortest_ns, times.least_wall_ns(), root.least_wall_ns()});
        continue;
      }
      const std::int64_t since_root_ns = subtract_saturating(times.end_ns, root.first_seen_ns());
      all_ns.push_back(std::clamp<std::int64_t>(since_root_ns, 0, times.wall_ns()));
      // Data may lie in buffers until a rank comes that it is for.
      longest_ns =
          std::max(longest_ns, add_saturating(add_saturating(since_root_ns, root.open_ns), off_ns));
      shortest_ns = std::min(
          shortest_ns, subtract_saturating(std::min(since_root_ns, times.seen_wall_ns()), off_ns));
    }
    if (all_ns.empty()) {
      return;
    }
    times_.best_busy_ns = model::lower_median(all_ns);
    times_.busy = Interval{shortest_ns, longest_ns};
  }

  // From the last of the others to the end of the root, but not before the root was there.
  void find_to_root() {
    RankTimes& root = rows_[flow_.root];
    if (!root.has_execution) {
      return;
    }
    root.shows_time = true;
    times_.best_busy_ns = root.seen_wall_ns();
    std::int64_t shortest_ns = root.least_wall_ns();
    std::int64_t longest_ns = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = 0; i < count(); ++i) {
      const RankTimes& times = rows_[i];
      if (i == flow_.root || !times.has_execution) {
        continue;
      }
      const std::int64_t off_ns = error_ns(root, times);
      if (off_ns == kUnknownClock_ns) {
        shortest_ns = std::min(shortest_ns, times.least_wall_ns());
        longest_ns = std::min(longest_ns, std::max(times.most_wall_ns(), root.most_wall_ns()));
        continue;
      }
      const std::int64_t since_ns = subtract_saturating(root.end_ns, times.first_seen_ns());
      times_.best_busy_ns = std::min(times_.best_busy_ns, std::max<std::int64_t>(since_ns, 0));
      shortest_ns = std::min(shortest_ns, subtract_saturating(since_ns, off_ns));
      // Data may have lain in buffers before the root came.
      longest_ns =
          std::min(longest_ns, add_saturating(add_saturating(since_ns, times.open_ns), off_ns));
    }
    times_.busy = Interval{shortest_ns, std::min(longest_ns, longest_wall_ns())};
  }

  std::int64_t longest_wall_ns() const {
    std::int64_t longest_ns = 0;
    for (const RankTimes& times : rows_) {
      longest_ns = times.has_execution ? std::max(longest_ns, times.most_wall_ns()) : longest_ns;
    }
    return longest_ns;
  }

  const FlowOfOperation& flow_;
  const bool has_all_ranks_;
  const std::span<RankTimes> rows_;
  Arrivals& shared_;
  OperationTimes times_;
};

}  // namespace

OperationTimes find_times(const FlowOfOperation& flow, bool has_all_ranks,
                          std::span<RankTimes> rows, Arrivals& arrivals) {
  arrivals.clear();
  return Finder(flow, has_all_ranks, rows, arrivals).find();
}

}  // namespace ringside::facts
