// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/operation_times.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "analyzer/model/nth_value.h"

namespace ringside::facts {
namespace {

class Finder {
 public:
  Finder(const FlowOfOperation& flow, bool has_all_ranks, std::span<RankTimes> rows)
      : flow_(flow), has_all_ranks_(has_all_ranks), rows_(rows) {}

  OperationTimes find() {
    if (has_root(Flow::kFromRoot)) {
      find_from_root();
    } else if (has_root(Flow::kToRoot)) {
      find_to_root();
    }
    if (!is_timed_) {
      find_shortest();
    }
    find_impossible();
    if (!is_timed_) {
      return times_;
    }
    // One that was not seen may have come last.
    busy_.least_ns = has_all_ranks_ && is_all_seen() ? busy_.least_ns : 0;
    busy_.least_ns = std::clamp<std::int64_t>(busy_.least_ns, 0, times_.best_busy_ns);
    busy_.most_ns = std::max(busy_.most_ns, times_.best_busy_ns);
    find_waits();
    times_.busy = busy_;
    return times_;
  }

 private:
  void set_busy(const Interval& busy) {
    busy_ = busy;
    is_timed_ = true;
  }

  bool has_root(Flow flow) const { return flow_.flow == flow && flow_.root != RankTimes::kNobody; }

  std::uint32_t count() const { return static_cast<std::uint32_t>(rows_.size()); }

  bool is_all_seen() const {
    return std::all_of(rows_.begin(), rows_.end(),
                       [](const RankTimes& times) { return times.has_execution; });
  }

  // How long the data of a rank took, and the rank that came last for it; kNobody: it did itself.
  struct Data {
    std::int64_t best_ns = 0;
    Interval bounds;
    std::uint32_t last = RankTimes::kNobody;
  };

  // A rank waited for as long as it was in the operation before its data moved. All of that is by
  // its own clock.
  static void set_wait(const Data& data, RankTimes& times) {
    const std::int64_t wall_ns = times.wall_ns();
    times.best_wait_ns = std::max<std::int64_t>(subtract_saturating(wall_ns, data.best_ns), 0);
    times.wait.least_ns = std::clamp<std::int64_t>(
        subtract_saturating(times.least_wall_ns(), data.bounds.most_ns), 0, times.best_wait_ns);
    times.wait.most_ns = std::max(subtract_saturating(times.most_wall_ns(), data.bounds.least_ns),
                                  times.best_wait_ns);
    times.waits_for = times.best_wait_ns > kSameMoment_ns ? data.last : RankTimes::kNobody;
  }

  void find_waits() {
    Data data{times_.best_busy_ns, busy_, RankTimes::kNobody};
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (rows_[i].shows_time &&
          (data.last == RankTimes::kNobody || rows_[i].wall_ns() < rows_[data.last].wall_ns())) {
        data.last = i;
      }
    }
    const bool is_from_root = has_root(Flow::kFromRoot);
    if (flow_.root == RankTimes::kNobody) {
      data.best_ns = rows_[data.last].wall_ns();  // by their calls, where they may have come then
    } else if (is_from_root) {
      data.last = flow_.root;
    } else {
      data.last = flow_.root + 1 == count() && count() > 1 ? count() - 2 : count() - 1;
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (rows_[i].shows_time) {
        data.best_ns = is_from_root ? rows_[i].wall_ns() - rows_[i].best_wait_ns : data.best_ns;
        set_wait(data, rows_[i]);
      } else if (rows_[i].has_execution) {
        rows_[i].wait.most_ns = rows_[i].most_wall_ns();  // only full buffers make it wait
      }
    }
  }

  // A rank cannot have ended before one that it needs came.
  void find_impossible() {
    const auto check = [&](std::uint32_t row, std::uint32_t needed) {
      const RankTimes& one = rows_[row];
      const std::int64_t clock_ns = clock_error_ns(one, rows_[needed]);
      const std::int64_t end_ns =
          add_saturating(add_saturating(one.end_ns, one.error.early_ns), clock_ns);
      times_.is_impossible =
          times_.is_impossible ||
          (one.has_execution && clock_ns != kUnknownClock_ns &&
           subtract_saturating(end_ns, rows_[needed].earliest_ns()) < -kImpossible_ns);
    };
    for (const Link& link : flow_.links) {
      check(link.destination, link.source);
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (flow_.flow == Flow::kAll) {
        check(i, count() - 1);
      } else if (has_root(Flow::kFromRoot)) {
        check(i, flow_.root);
      } else if (has_root(Flow::kToRoot)) {
        check(flow_.root, i);
      }
    }
  }

  // The last rank to come waits for nobody, so the shortest time of a rank is that of the data. It
  // is by the clock of that rank alone.
  void find_shortest() {
    constexpr std::int64_t kMost_ns = std::numeric_limits<std::int64_t>::max();
    Interval busy{kMost_ns, kMost_ns};
    std::int64_t best_ns = kMost_ns;
    for (RankTimes& times : rows_) {
      if (times.has_execution) {
        times.shows_time = true;
        busy.least_ns = std::min(busy.least_ns, times.least_wall_ns());
        busy.most_ns = std::min(busy.most_ns, times.most_wall_ns());
        best_ns = std::min(best_ns, times.seen_wall_ns());
      }
    }
    if (best_ns != kMost_ns) {
      set_busy(busy);
      times_.best_busy_ns = best_ns;
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
      times.best_wait_ns = times.wall_ns() - all_ns.back();  // until the root came
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
    set_busy({shortest_ns, longest_ns});
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
    set_busy({shortest_ns, std::min(longest_ns, longest_wall_ns())});
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
  Interval busy_;  // once it is known
  bool is_timed_ = false;
  OperationTimes times_;
};

}  // namespace

OperationTimes find_times(const FlowOfOperation& flow, bool has_all_ranks,
                          std::span<RankTimes> rows) {
  return Finder(flow, has_all_ranks, rows).find();
}

}  // namespace ringside::facts
