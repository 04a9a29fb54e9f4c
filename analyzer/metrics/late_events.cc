// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/late_events.h"

#include <algorithm>
#include <cmath>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

template <typename Number>
Number middle_of(std::vector<Number>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<const LateEvent*> choose_typical(const std::vector<LateEvent>& events) {
  double sum = 0;
  double squares = 0;
  for (const LateEvent& event : events) {
    const auto cost = static_cast<double>(event.cost_ns);
    sum += cost;
    squares += cost * cost;
  }
  std::vector<const LateEvent*> chosen;
  for (const LateEvent& event : events) {
    if (event.cost_ns > 0 && static_cast<double>(event.cost_ns) * sum >= squares / 4) {
      chosen.push_back(&event);
    }
  }
  return chosen;
}

// Finds where the sum of (1 if it was late, else 0, less half the rate) begins its greatest rise.
std::int64_t beginning(const std::vector<const LateEvent*>& events, std::uint64_t operations) {
  const double half = static_cast<double>(events.size()) / static_cast<double>(operations) / 2;
  double best = 0;
  double sum = 0;
  std::size_t begin = 0;
  std::size_t since = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    sum -= half * static_cast<double>(events[i]->number - before);
    before = events[i]->number;
    if (sum <= 0) {
      sum = 0;
      begin = i;
    }
    sum += 1;
    if (sum > best) {
      best = sum;
      since = begin;
    }
  }
  return events[since]->at_ns;
}

void find_period(const std::vector<const LateEvent*>& events, std::uint64_t operations,
                 LateTimes& times) {
  constexpr std::size_t kLeast = 5;
  if (events.size() < kLeast) {
    return;
  }
  std::vector<std::uint64_t> numbers;
  std::vector<std::int64_t> gaps_ns;
  for (std::size_t i = 1; i < events.size(); ++i) {
    numbers.push_back(events[i]->number - events[i - 1]->number);
    gaps_ns.push_back(subtract_saturating(events[i]->at_ns, events[i - 1]->at_ns));
  }
  const std::uint64_t number = middle_of(numbers);
  const auto alike = std::count(numbers.begin(), numbers.end(), number);
  // It goes on for most of the time, and not only within one iteration of many operations.
  const bool is_lasting = 2 * number * events.size() > operations - events.front()->number;
  if (number > 1 && is_lasting && 10 * static_cast<std::size_t>(alike) >= 9 * numbers.size()) {
    times.every_operations = number;
    times.every_ns = middle_of(gaps_ns);
  }
}

}  // namespace

LateTimes describe_events(const std::vector<LateEvent>& events, std::uint64_t operations) {
  LateTimes times;
  const auto typical = choose_typical(events);
  times.times = typical.size();
  for (const LateEvent* const event : typical) {
    times.cost_ns = add_saturating(times.cost_ns, event->cost_ns);
  }
  if (!typical.empty() && operations > 0) {
    times.since_ns = beginning(typical, operations);
    find_period(typical, operations, times);
  }
  return times;
}

bool are_no_chance(const LateTimes& times, std::size_t count) {
  constexpr double kOfChance = 100;
  return std::pow(static_cast<double>(count), static_cast<double>(times.times) - 1) >= kOfChance;
}

}  // namespace ringside::metrics
