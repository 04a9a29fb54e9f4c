// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/row_times.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

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

// The places of all durations that a quantile is made of, ascending.
std::array<std::size_t, 6> places_of(std::size_t count) {
  return {0, (count - 1) / 2, count / 2, place_of(count, 90), place_of(count, 99), count - 1};
}

// Buckets are narrower than a thousandth of what is in them.
constexpr int kExactBits = 11;

std::int64_t bucket_of(std::int64_t duration_ns) {
  const std::uint64_t size =
      static_cast<std::uint64_t>(duration_ns < 0 ? ~duration_ns : duration_ns);
  const int rest = std::max(static_cast<int>(std::bit_width(size)) - kExactBits, 0);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(duration_ns) >> rest << rest);
}

std::size_t count_of(const std::map<std::int64_t, std::uint64_t>& counts) {
  std::size_t count = 0;
  for (const auto& [value, times] : counts) {
    count += times;
  }
  return count;
}

// Calls take(bucket) with the bucket that has the duration at each of these places.
template <typename Take>
void for_each_place(const std::map<std::int64_t, std::uint64_t>& counts, const Take& take) {
  const std::size_t count = count_of(counts);
  if (count == 0) {
    return;
  }
  auto here = counts.begin();
  std::size_t before = 0;
  for (const std::size_t place : places_of(count)) {
    for (; before + here->second <= place; ++here) {
      before += here->second;
    }
    take(here->first);
  }
}

// Each of these few is read when it is in its place, which takes less time than to sort all.
template <typename Number, typename Quantiles>
Quantiles select(std::vector<Number>& values, std::int64_t zero_ns) {
  const auto begin = values.begin();
  const auto end = values.end();
  const auto value_of = [&](Number value) {
    return static_cast<double>(add_saturating(zero_ns, static_cast<std::int64_t>(value)));
  };
  Quantiles found;
  auto sorted = begin;  // what is before it is not greater than what follows
  const auto value_at = [&](std::size_t index) {
    const auto place = begin + static_cast<std::ptrdiff_t>(index);
    std::nth_element(sorted, place, end);
    sorted = place;
    return value_of(*place);
  };
  const std::size_t count = values.size();
  found.median = value_at(count / 2);
  found.min = value_of(*std::min_element(begin, sorted + 1));
  if (count % 2 == 0) {
    found.median = (value_of(*std::max_element(begin, sorted)) + found.median) / 2;
  }
  found.p90 = value_at(place_of(count, 90));
  found.p99 = value_at(place_of(count, 99));
  found.max = value_of(*std::max_element(sorted, end));
  return found;
}

}  // namespace

// Numbers that are near the first are selected from in half the memory.
template <typename Table>
RowTimes::Quantiles RowTimes::quantiles_of(const Table& table, std::size_t column) {
  if (table.size() == 0) {
    return {};
  }
  const std::int64_t first_ns = table.first(0)[column];
  std::vector<std::int32_t> near;
  near.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t off_ns = subtract_saturating(table.first(i)[column], first_ns);
    near.push_back(static_cast<std::int32_t>(off_ns));
    if (near.back() != off_ns) {
      near = {};
      std::vector<std::int64_t> values;
      values.reserve(table.size());
      for (std::size_t k = 0; k < table.size(); ++k) {
        values.push_back(table.first(k)[column]);
      }
      return select<std::int64_t, Quantiles>(values, 0);
    }
  }
  return select<std::int32_t, Quantiles>(near, first_ns);
}

RowTimes::Quantiles RowTimes::quantiles_of(const Counts& counts) {
  std::vector<double> at;
  for_each_place(counts,
                 [&](std::int64_t value_ns) { at.push_back(static_cast<double>(value_ns)); });
  return {at[0], count_of(counts) % 2 == 0 ? (at[1] + at[2]) / 2 : at[2], at[3], at[4], at[5]};
}

// Calls take(duration) for each of a column.
template <typename Take>
void RowTimes::visit(std::size_t column, const Take& take) const {
  const auto visit_table = [&](const auto& table, std::size_t of_table) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      take(table.first(i)[of_table]);
    }
  };
  if (column == kColumns - 1) {
    visit_table(wall_, 0);
  } else {
    visit_table(column / 3 == 0 ? wait_ : busy_, column % 3);
  }
}

void RowTimes::count_buckets() {
  for_each_on_cores(kColumns, [&](std::size_t /*thread*/, std::size_t column) {
    std::unordered_map<std::int64_t, std::uint64_t> counts;
    visit(column, [&](std::int64_t duration_ns) { ++counts[bucket_of(duration_ns)]; });
    counts_[column] = Counts(counts.begin(), counts.end());
  });
}

RowTimes::Wanted RowTimes::wanted() const {
  Wanted wanted;
  for (std::size_t column = 0; column < kColumns; ++column) {
    for_each_place(counts_[column], [&](std::int64_t bucket) {
      if (wanted[column].empty() || wanted[column].back() != bucket) {
        wanted[column].push_back(bucket);
      }
    });
  }
  return wanted;
}

RowTimes::Found RowTimes::find(const Wanted& wanted) const {
  Found found;
  for_each_on_cores(kColumns, [&](std::size_t /*thread*/, std::size_t column) {
    const std::vector<std::int64_t>& buckets = wanted[column];
    if (buckets.empty()) {
      return;
    }
    visit(column, [&](std::int64_t duration_ns) {
      if (std::binary_search(buckets.begin(), buckets.end(), bucket_of(duration_ns))) {
        ++found[column][duration_ns];
      }
    });
  });
  return found;
}

void RowTimes::refine(Found&& found) {
  for (std::size_t column = 0; column < kColumns; ++column) {
    for (const auto& [duration_ns, times] : found[column]) {
      counts_[column].erase(bucket_of(duration_ns));
    }
    counts_[column].merge(found[column]);
  }
}

void RowTimes::add(const facts::OperationFacts& operation,
                   const std::vector<facts::RankTimes>& rows) {
  if (operation.busy) {
    busy_.push_back({operation.best_busy_ns, operation.busy->least_ns, operation.busy->most_ns});
  }
  for (const facts::RankTimes& rank : rows) {
    if (rank.has_execution) {
      if (rank.open_ns == 0) {
        wall_.push_back({rank.wall_ns()});
      }
      waited_ns_ = add_saturating(waited_ns_, rank.wait.least_ns);
      wait_.push_back({rank.best_wait_ns, rank.wait.least_ns, rank.wait.most_ns});
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
  for (std::size_t column = 0; column < kColumns; ++column) {
    for (const auto& [bucket, times] : other.counts_[column]) {
      counts_[column][bucket] += times;
    }
  }
}

// A quantile does not fall when a duration grows. So those of all the least and of all the most
// bound the true one. Each is selected by itself, on all cores.
std::array<std::optional<Spread>, 3> RowTimes::spreads() const {
  constexpr std::size_t kBest = 0;
  constexpr std::size_t kLeast = 1;
  constexpr std::size_t kMost = 2;
  std::array<std::array<Quantiles, 3>, 2> of_bounds;
  Quantiles of_wall;
  in_parallel(
      7, wait_.size() < kManyTimes ? 1 : 0, [] { return 0; },
      [&](std::size_t i, int /*unused*/) {
        if (!counts_[i].empty()) {
          (i == 6 ? of_wall : of_bounds[i / 3][i % 3]) = quantiles_of(counts_[i]);
        } else if (i == 6) {
          of_wall = quantiles_of(wall_, 0);
        } else {
          of_bounds[i / 3][i % 3] = quantiles_of(i / 3 == 0 ? wait_ : busy_, i % 3);
        }
      });
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
  const auto& [of_wait, of_busy] = of_bounds;
  const auto has = [&](std::size_t size, std::size_t column) {
    return size > 0 || !counts_[column].empty();
  };
  return {spread(has(busy_.size(), 3), of_busy[kLeast], of_busy[kBest], of_busy[kMost]),
          spread(has(wall_.size(), 6), of_wall, of_wall, of_wall),
          spread(has(wait_.size(), 0), of_wait[kLeast], of_wait[kBest], of_wait[kMost])};
}

}  // namespace ringside::metrics
