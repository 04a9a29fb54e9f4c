// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/arrival_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::facts {
namespace {

TEST_CASE("ranks are in the order of their arrivals, and by member where these are equal") {
  std::mt19937_64 random(20261126);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < 300; ++round) {
    const std::int64_t begin_ns = pick(-1'000'000'000, 1'000'000'000'000'000'000);
    const std::int64_t span_ns = pick(0, 1) == 0 ? pick(0, 9) : pick(0, 1'000'000'000'000);
    std::vector<RankTimes> rows(static_cast<std::size_t>(pick(0, 300)));
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      rows[i].member = i;
      rows[i].arrival_ns = begin_ns + pick(0, span_ns);
      rows[i].end_ns = rows[i].arrival_ns + i;  // the rest of a row stays with it
      if (round % 10 == 0 && pick(0, 9) == 0) {
        rows[i].arrival_ns = pick(0, 1) == 0 ? kLeast : kMost;
      }
    }
    if (round % 3 == 0) {
      std::shuffle(rows.begin(), rows.end(), random);
    }
    std::vector<RankTimes> expected = rows;
    std::sort(expected.begin(), expected.end(), [](const RankTimes& a, const RankTimes& b) {
      return std::tie(a.arrival_ns, a.member) < std::tie(b.arrival_ns, b.member);
    });
    sort_by_arrival(rows);
    REQUIRE(rows.size() == expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(rows[i].member == expected[i].member);
      REQUIRE(rows[i].arrival_ns == expected[i].arrival_ns);
      REQUIRE(rows[i].end_ns == expected[i].end_ns);
    }
  }
}

}  // namespace
}  // namespace ringside::facts
