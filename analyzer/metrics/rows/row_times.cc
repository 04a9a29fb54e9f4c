// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/row_times.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "analyzer/model/nth_value.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

// The quantiles of durations. Each is the same member of three of these, and becomes one Figure.
struct RowTimes::Quantiles {
  double min = 0;
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

namespace {

// With fewer times it takes longer to start a thread.
constexpr std::size_t kManyTimes = 8'192;

// The place of a percentile among so many sorted durations.
std::size_t place_of(std::size_t count, std::size_t percent) {
  return (count * percent + 99) / 100 - 1;
}

// Counts how many durations are in each of many equal parts of their range, and then selects from
// those parts alone in which quantiles are. visit(take) calls take(duration) with each of `count`.
template <typename Quantiles, typename Visit>
Quantiles select(std::size_t count, const Visit& visit) {
  constexpr int kPartBits = 15;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  visit([&](std::int64_t duration_ns) {
    least = std::min(least, duration_ns);
    most = std::max(most, duration_ns);
  });
  const auto off = [&](std::int64_t duration_ns) {
    return static_cast<std::uint64_t>(duration_ns) - static_cast<std::uint64_t>(least);
  };
  const int shift = std::max(static_cast<int>(std::bit_width(off(most))) - kPartBits, 0);
  std::vector<std::size_t> counts(std::size_t{1} << kPartBits);
  visit([&](std::int64_t duration_ns) { ++counts[off(duration_ns) >> shift]; });

  constexpr std::size_t kQuantiles = 4;
  const std::array<std::size_t, kQuantiles> places = {(count - 1) / 2, count / 2,
                                                      place_of(count, 90), place_of(count, 99)};
  std::array<std::size_t, kQuantiles> before{};          // in the parts before that of each
  std::vector<std::uint8_t> first_in(counts.size());     // 1 + the first quantile in a part
  std::array<std::vector<std::int64_t>, kQuantiles> of;  // by the first quantile of their part
  std::array<std::uint8_t, kQuantiles> which{};
  std::size_t part = 0;
  std::size_t passed = 0;
  for (std::uint8_t i = 0; i < kQuantiles; ++i) {
    for (; passed + counts[part] <= places[i]; ++part) {
      passed += counts[part];
    }
    if (first_in[part] == 0) {
      first_in[part] = static_cast<std::uint8_t>(i + 1);
      of[i].reserve(counts[part]);
    }
    which[i] = static_cast<std::uint8_t>(first_in[part] - 1);
    before[i] = passed;
  }
  visit([&](std::int64_t duration_ns) {
    if (const std::uint8_t first = first_in[off(duration_ns) >> shift]) {
      of[first - 1].push_back(duration_ns);
    }
  });
  const auto at = [&](std::size_t i) {
    std::vector<std::int64_t>& values = of[which[i]];
    return static_cast<double>(model::nth_value(values, places[i] - before[i]));
  };
  Quantiles found;
  found.min = static_cast<double>(least);
  found.median = count % 2 == 0 ? (at(0) + at(1)) / 2 : at(1);
  found.p90 = at(2);
  found.p99 = at(3);
  found.max = static_cast<double>(most);
  return found;
}

}  // namespace

std::size_t RowTimes::count_of_column(std::size_t column) const {
  return column == kColumns - 1 ? wall_.size() : (column / 3 == 0 ? wait_ : busy_).size();
}

// Calls take(duration) for each of a column.
template <typename Take>
void RowTimes::visit(std::size_t column, const Take& take) const {
  if (column == kColumns - 1) {
    wall_.visit<0>(take);
    return;
  }
  const Bounds& table = column / 3 == 0 ? wait_ : busy_;
  switch (column % 3) {
    case 0:
      table.visit<0>(take);
      break;
    case 1:
      table.visit<1>(take);
      break;
    default:
      table.visit<2>(take);
      break;
  }
}

RowTimes::Quantiles RowTimes::quantiles_of(std::size_t column) const {
  const std::size_t count = count_of_column(column);
  return count == 0 ? Quantiles()
                    : select<Quantiles>(count, [&](const auto& take) { visit(column, take); });
}

void RowTimes::add(const facts::OperationFacts& operation,
                   const std::vector<facts::RankTimes>& rows) {
  if (operation.busy) {
    busy_.push_back({operation.best_busy_ns, operation.busy->least_ns, operation.busy->most_ns});
  }
  for (const facts::RankTimes& rank : rows) {
    if (!rank.has_execution) {
      continue;
    }
    waited_ns_ = add_saturating(waited_ns_, rank.best_wait_ns);
    if (rank.shows_time) {
      // A rank that may have come before it was seen was there for its wait and the transfer.
      const std::int64_t wall_ns =
          std::clamp(add_saturating(operation.best_busy_ns, rank.best_wait_ns), rank.seen_wall_ns(),
                     rank.wall_ns());
      wall_.push_back({wall_ns});
      wait_.push_back({std::min(rank.best_wait_ns, wall_ns), std::min(rank.wait.least_ns, wall_ns),
                       rank.wait.most_ns});
    }
  }
}

void RowTimes::add_queued(std::int64_t duration_ns) {
  busy_.push_back({duration_ns, duration_ns, duration_ns});
  wall_.push_back({duration_ns});
}

void RowTimes::take(RowTimes&& other) {
  busy_.take(std::move(other.busy_));
  wall_.take(std::move(other.wall_));
  wait_.take(std::move(other.wait_));
  waited_ns_ = add_saturating(waited_ns_, other.waited_ns_);
}

// A quantile does not fall when a duration grows. So those of all the least and of all the most
// bound the true one. Each is selected by itself, on all cores.
std::array<std::optional<Spread>, 3> RowTimes::spreads() const {
  constexpr std::size_t kBest = 0;
  constexpr std::size_t kLeast = 1;
  constexpr std::size_t kMost = 2;
  std::array<Quantiles, kColumns> of;
  in_parallel(
      kColumns, wait_.size() < kManyTimes ? 1 : 0, [] { return 0; },
      [&](std::size_t column, int /*unused*/) { of[column] = quantiles_of(column); });
  const auto spread = [](bool is_there, const Quantiles& least, const Quantiles& best,
                         const Quantiles& most) -> std::optional<Spread> {
    const auto figure = [&](double Quantiles::*which) {
      return Figure{least.*which, best.*which, most.*which};
    };
    return is_there ? std::optional(Spread{figure(&Quantiles::min), figure(&Quantiles::median),
                                           figure(&Quantiles::p90), figure(&Quantiles::p99),
                                           figure(&Quantiles::max)})
                    : std::nullopt;
  };
  const auto has = [&](std::size_t column) { return count_of_column(column) > 0; };
  const auto spread_of = [&](std::size_t first) {
    return spread(has(first), of[first + kLeast], of[first + kBest], of[first + kMost]);
  };
  const std::size_t wall = kColumns - 1;
  return {spread_of(3), spread(has(wall), of[wall], of[wall], of[wall]), spread_of(0)};
}

}  // namespace ringside::metrics
