// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/operation_times.h"

#include <algorithm>
#include <vector>

#include "analyzer/facts/latest.h"

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
    if (flow_.flow == Flow::kToRoot) {
      find_to_root();
    } else if (flow_.flow == Flow::kLinks) {
      find_links();
    } else {
      find_shared();
    }
    // One rank whose data may have taken any time leaves the whole open.
    if (is_unknown_) {
      times_.busy.reset();
    }
    if (flow_.flow == Flow::kLinks && flow_.links.empty() && has_all_ranks_ && count() == 1) {
      times_.busy = Interval{rows_[0].least_wall_ns(), rows_[0].most_wall_ns()};  // to itself
    }
    if (times_.busy) {
      times_.busy->least_ns = std::clamp<std::int64_t>(
          times_.busy->least_ns, 0, std::max<std::int64_t>(times_.busy->most_ns, 0));
      times_.busy->most_ns = std::max<std::int64_t>(times_.busy->most_ns, 0);
      times_.best_busy_ns =
          std::clamp(shown_busy_ns(), times_.busy->least_ns, times_.busy->most_ns);
    }
    return times_;
  }

 private:
  std::uint32_t count() const { return static_cast<std::uint32_t>(rows_.size()); }

  // The time as the stamps show it. It is not known how much of the data lay in buffers before the
  // last rank came, so the middle of the possible times counts.
  std::int64_t shown_busy_ns() const {
    if (flow_.flow == Flow::kLinks && flow_.links.size() != 1) {
      return times_.busy->middle_ns();
    }
    std::int64_t last_end_ns = Latest::kNever;
    std::int64_t last_needed_ns = Latest::kNever;
    std::int64_t last_ns = Latest::kNever;
    for (std::uint32_t i = 0; i < count(); ++i) {
      const RankTimes& times = rows_[i];
      last_ns = std::max(last_ns, times.arrival_ns);
      if (times.has_execution && gets_data(i)) {
        last_end_ns = std::max(last_end_ns, times.end_ns);
      }
      if (is_needed(i)) {
        last_needed_ns = std::max(last_needed_ns, times.arrival_ns);
      }
    }
    const Interval shown{subtract_saturating(last_end_ns, last_ns),
                         subtract_saturating(last_end_ns, last_needed_ns)};
    return shown.middle_ns();
  }

  bool is_needed(std::uint32_t row) const {
    return count() == 1 || flow_.flow == Flow::kAll || flow_.flow == Flow::kUnknown ||
           (flow_.flow == Flow::kFromRoot && row == flow_.root) ||
           (flow_.flow == Flow::kToRoot && row != flow_.root) ||
           (flow_.flow == Flow::kLinks && row == flow_.links.front().source);
  }

  bool gets_data(std::uint32_t row) const {
    return (flow_.flow != Flow::kToRoot || row == flow_.root) &&
           (flow_.flow != Flow::kLinks || row == flow_.links.front().destination);
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

  // The time of the data is from the arrival of all needed ranks to this rank's end. The least
  // counts from the last rank that may have held it up, the most from the last that it surely
  // needs. `own_counts`: the data could not come before this rank was there, as it could into the
  // rank's buffers.
  void end_at(std::uint32_t row, const Seen& seen, bool own_counts) {
    const RankTimes& times = rows_[row];
    const std::int64_t wall_ns = times.most_wall_ns();
    const Latest::Moment& needed = seen.needed;
    std::int64_t most_ns = own_counts ? wall_ns : Latest::kUnknown;
    if (needed.row != RankTimes::kNobody && needed.time_ns != Latest::kNever) {
      const std::int64_t since_ns =
          subtract_saturating(add_saturating(times.end_ns, times.error.early_ns), needed.time_ns);
      times_.is_impossible = times_.is_impossible || since_ns < -kImpossible_ns;
      most_ns = std::min(most_ns, since_ns);
      const bool came_before = rows_[row].wait.least_ns > 0;
      most_ns = came_before ? std::min(most_ns, wall_ns) : most_ns;
    }
    if (most_ns == Latest::kUnknown) {
      is_unknown_ = true;
      return;
    }
    const Latest::Moment& possible = seen.possible;
    std::int64_t least_ns = times.least_wall_ns();
    if (possible.time_ns == Latest::kUnknown) {
      least_ns = 0;
    } else if (possible.row != RankTimes::kNobody) {
      least_ns = std::min(
          least_ns, subtract_saturating(subtract_saturating(times.end_ns, times.error.late_ns),
                                        possible.time_ns));
    }
    // The last to end has the whole of it: of each bound the greatest counts.
    if (!times_.busy) {
      times_.busy = Interval{least_ns, most_ns};
    }
    times_.busy->least_ns = std::max(times_.busy->least_ns, least_ns);
    times_.busy->most_ns = std::max(times_.busy->most_ns, most_ns);
  }

  // All wait for the same ranks: surely for all, for the root, or for nobody that is known.
  void find_shared() {
    const bool is_all = flow_.flow == Flow::kAll;
    const bool has_root = flow_.flow == Flow::kFromRoot;
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (is_all || (has_root && i == flow_.root)) {
        shared_.need(rows_, i);
      } else {
        shared_.may_need(rows_, i);
      }
    }
    std::int64_t least_wall_ns = Latest::kUnknown;
    for (std::uint32_t i = 0; i < count(); ++i) {
      const Seen seen(shared_, rows_, i);
      wait(i, shared_, seen);
      if (rows_[i].has_execution && (!has_root || flow_.root != RankTimes::kNobody)) {
        end_at(i, seen, !has_root || i == flow_.root);
        least_wall_ns = std::min(least_wall_ns, rows_[i].least_wall_ns());
      }
    }
    // The last to come waited for nobody, so its own time is a part of it, whatever the clocks say.
    if (is_all && times_.busy && !shared_.has_unknown && has_all_ranks_) {
      times_.busy->least_ns = std::max(times_.busy->least_ns, least_wall_ns);
    }
  }

  void find_to_root() {
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
    if (flow_.root != RankTimes::kNobody && rows_[flow_.root].has_execution) {
      end_at(flow_.root, Seen(arrivals, rows_, flow_.root), count() == 1);
    }
  }

  void find_links() {
    std::vector<Arrivals> arrivals(rows_.size());
    std::vector<bool> receives(rows_.size(), false);
    for (const Link& link : flow_.links) {
      arrivals[link.destination].need(rows_, link.source);
      arrivals[link.source].may_need(rows_, link.destination);
      receives[link.destination] = true;
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      const Seen seen(arrivals[i], rows_, i);
      wait(i, arrivals[i], seen);
      if (receives[i] && rows_[i].has_execution) {
        end_at(i, seen, false);
      }
    }
  }

  const FlowOfOperation& flow_;
  const bool has_all_ranks_;
  const std::span<RankTimes> rows_;
  Arrivals& shared_;
  OperationTimes times_;
  bool is_unknown_ = false;
};

}  // namespace

OperationTimes find_times(const FlowOfOperation& flow, bool has_all_ranks,
                          std::span<RankTimes> rows, Arrivals& arrivals) {
  arrivals.clear();
  return Finder(flow, has_all_ranks, rows, arrivals).find();
}

}  // namespace ringside::facts
