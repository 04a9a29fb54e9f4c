// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/row_times.h"

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

void add(std::int64_t wall_ns, std::int64_t wait_ns, RowTimes& times) {
  facts::OperationFacts operation;
  operation.busy = facts::Interval{wall_ns - wait_ns - 3, wall_ns - wait_ns + wall_ns / 8};
  operation.best_busy_ns = wall_ns - wait_ns;
  facts::RankTimes rank;
  rank.has_execution = rank.shows_time = true;
  rank.end_ns = wall_ns;
  rank.wait = {wait_ns / 2, wait_ns};
  rank.best_wait_ns = wait_ns;
  times.add(operation, {rank});
}

void check_same(const std::optional<Spread>& one, const std::optional<Spread>& other) {
  REQUIRE(one.has_value() == other.has_value());
  for (Figure Spread::*const which :
       {&Spread::min, &Spread::median, &Spread::p90, &Spread::p99, &Spread::max}) {
    for (double Figure::*const bound : {&Figure::least, &Figure::best, &Figure::most}) {
      CHECK((*one).*which.*bound == (*other).*which.*bound);
    }
  }
}

TEST_CASE("quantiles of durations that were joined are those of all of them") {
  std::mt19937_64 random(7);
  for (const std::size_t count : {1U, 2U, 3U, 10U, 999U, 20'000U}) {
    RowTimes whole;
    std::array<RowTimes, 3> parts;
    std::lognormal_distribution<double> wall_of(13, 2);
    for (std::size_t i = 0; i < count; ++i) {
      // Many waits are 0, and some durations are equal.
      const auto wall_ns = i % 5 == 0 ? 1'234'567 : static_cast<std::int64_t>(wall_of(random)) + 1;
      const auto wait_ns = i % 3 == 0 ? 0 : wall_ns / static_cast<std::int64_t>(i % 7 + 1);
      add(wall_ns, wait_ns, whole);
      add(wall_ns, wait_ns, parts[random() % 2]);  // the third has none
    }
    RowTimes joined;
    for (RowTimes& part : parts) {
      joined.take(std::move(part));
    }
    const auto of_parts = joined.spreads();
    const auto of_whole = whole.spreads();
    for (std::size_t i = 0; i < of_whole.size(); ++i) {
      check_same(of_parts[i], of_whole[i]);
    }
    CHECK(joined.waited_ns() == whole.waited_ns());
  }
}

}  // namespace
}  // namespace ringside::metrics
