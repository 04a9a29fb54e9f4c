// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/row_times.h"

#include <algorithm>
#include <utility>

namespace ringside::metrics {

void RowTimes::Bounds::add(const facts::Interval& interval, std::int64_t best) {
  least_ns.push_back(interval.least_ns);
  best_ns.push_back(best);
  most_ns.push_back(interval.most_ns);
}

// What is said of durations, each as a Figure that has it in one place.
struct RowTimes::Quantiles {
  double min = 0;
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

RowTimes::Quantiles RowTimes::quantiles_of(std::vector<std::int64_t> values_ns) {
  // Each of these few is read when it is in its place, which takes less time than to sort all.
  const auto begin = values_ns.begin();
  const auto end = values_ns.end();
  Quantiles found;
  auto sorted = begin;  // what is before it is not greater than what follows
  const auto value_at = [&](std::size_t index) {
    const auto place = begin + static_cast<std::ptrdiff_t>(index);
    std::nth_element(sorted, place, end);
    sorted = place;
    return static_cast<double>(*place);
  };
  const std::size_t count = values_ns.size();
  found.median = value_at(count / 2);
  found.min = static_cast<double>(*std::min_element(begin, sorted + 1));
  if (count % 2 == 0) {
    found.median = (static_cast<double>(*std::max_element(begin, sorted)) + found.median) / 2;
  }
  found.p90 = value_at((count * 90 + 99) / 100 - 1);
  found.p99 = value_at((count * 99 + 99) / 100 - 1);
  found.max = static_cast<double>(*std::max_element(sorted, end));
  return found;
}

// A quantile does not fall when a duration grows. So those of all the least and of all the most
// bound the true one.
Spread RowTimes::spread_of(const Quantiles& least, const Quantiles& best, const Quantiles& most) {
  const auto figure = [&](double Quantiles::*which) {
    return Figure{least.*which, best.*which, most.*which};
  };
  return {figure(&Quantiles::min), figure(&Quantiles::median), figure(&Quantiles::p90),
          figure(&Quantiles::p99), figure(&Quantiles::max)};
}

std::optional<Spread> RowTimes::spread_of(const Bounds& bounds) {
  if (bounds.least_ns.empty()) {
    return std::nullopt;
  }
  return spread_of(quantiles_of(bounds.least_ns), quantiles_of(bounds.best_ns),
                   quantiles_of(bounds.most_ns));
}

void RowTimes::add(const facts::OperationFacts& operation,
                   const std::vector<facts::RankTimes>& rows) {
  if (operation.busy) {
    busy_.add(*operation.busy, operation.best_busy_ns);
  }
  for (const facts::RankTimes& rank : rows) {
    if (rank.has_execution) {
      wall_ns_.push_back(rank.wall_ns());
      wait_.add(rank.wait, rank.best_wait_ns);
    }
  }
}

void RowTimes::add_queued(std::int64_t duration_ns) {
  busy_.add({duration_ns, duration_ns}, duration_ns);
  wall_ns_.push_back(duration_ns);
}

std::optional<Spread> RowTimes::busy() const {
  return spread_of(busy_);
}

std::optional<Spread> RowTimes::wall() const {
  if (wall_ns_.empty()) {
    return std::nullopt;
  }
  const Quantiles exact = quantiles_of(wall_ns_);
  return spread_of(exact, exact, exact);
}

std::optional<Spread> RowTimes::wait() const {
  return spread_of(wait_);
}

}  // namespace ringside::metrics
