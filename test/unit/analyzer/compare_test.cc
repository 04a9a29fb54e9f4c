// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/compare.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "analyzer/metrics/significance.h"
#include "analyzer/report/compare_report.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

TimesOfKind times(std::uint64_t bytes, std::vector<std::int64_t> least_ns,
                  std::vector<std::int64_t> busy_ns = {}) {
  TimesOfKind one;
  one.kind.communicator = "world";
  one.kind.nranks = 4;
  one.kind.function = "AllReduce";
  one.kind.bytes = bytes;
  one.ranks = 4;
  one.least_ns = std::move(least_ns);
  one.busy_ns = std::move(busy_ns);
  std::sort(one.least_ns.begin(), one.least_ns.end());
  return one;
}

std::vector<std::int64_t> draw(std::mt19937_64& random, std::size_t count) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    // Skewed, with ties, as durations are.
    const auto unit = static_cast<double>(random() >> 11) * 0x1p-53;
    values.push_back(100'000 + 1000 * std::llround(-20 * std::log(1 - unit)));
  }
  std::sort(values.begin(), values.end());
  return values;
}

TEST_CASE("Mann and Whitney's test, by hand") {
  // No overlap: U = 0, mean 32, variance 64 * 17 / 12 = 90.67, z = 31.5 / 9.5219 = 3.3082.
  CHECK(mann_whitney({1, 2, 3, 4, 5, 6, 7, 8}, {11, 12, 13, 14, 15, 16, 17, 18}) ==
        Approx(std::erfc(31.5 / std::sqrt(2 * 64.0 * 17 / 12))));
  CHECK(mann_whitney({1, 2, 3, 4, 5, 6, 7, 8}, {11, 12, 13, 14, 15, 16, 17, 18}) ==
        Approx(0.000939).epsilon(0.001));
  // Ties: ranks 1, 3, 3 | 3, 5.5, 5.5; U = 1, mean 4.5,
  // variance 9 / 12 * (7 - (24 + 6) / 30) = 4.5, z = 3 / 2.1213 = 1.41421.
  CHECK(mann_whitney({1, 2, 2}, {2, 3, 3}) == Approx(0.157299).epsilon(0.0001));
  CHECK(mann_whitney({2, 3, 3}, {1, 2, 2}) == Approx(mann_whitney({1, 2, 2}, {2, 3, 3})));
  CHECK(mann_whitney({5, 5, 5}, {5, 5}) == 1);
}

TEST_CASE("Holm's correction, by hand") {
  const auto corrected = holm({0.04, 0.01, 0.03, 0.5});
  CHECK(corrected[1] == Approx(0.04));
  CHECK(corrected[2] == Approx(0.09));
  CHECK(corrected[0] == Approx(0.09));  // 0.08, but no less than the one before
  CHECK(corrected[3] == Approx(0.5));
  CHECK(holm({0.9, 0.8}) == std::vector<double>{1, 1});
  CHECK(holm({}).empty());
}

TEST_CASE("Where nothing changed, at most one comparison in twenty has a finding") {
  constexpr int kSeeds = 1000;
  int wrong = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::vector<TimesOfKind> a;
    std::vector<TimesOfKind> b;
    for (std::uint64_t bytes = 1; bytes <= 10; ++bytes) {
      a.push_back(times(bytes, draw(random, 8 + bytes)));
      b.push_back(times(bytes, draw(random, 30)));
    }
    const auto changes = compare(a, b);
    wrong += std::any_of(changes.begin(), changes.end(),
                         [](const Change& change) { return change.is_significant(); })
                 ? 1
                 : 0;
  }
  // 5 % of 1000 are 50, and three standard deviations of that are 21.
  CHECK(wrong <= 71);
}

TEST_CASE("A real change is found, and its size is told") {
  std::mt19937_64 random(1);
  auto slow = draw(random, 30);
  for (std::int64_t& value : slow) {
    value += 60'000;
  }
  const auto changes = compare({times(1 << 20, draw(random, 30))}, {times(1 << 20, slow)});
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].is_significant());
  CHECK(*changes[0].percent > 30);
  CHECK(report::got_slower(changes[0], 5));
  CHECK_FALSE(report::got_slower(changes[0], 500));
}

TEST_CASE("Few operations are not judged, and both sides have one definition of time") {
  const auto few = compare({times(8, {1, 2, 3})}, {times(8, {100, 200, 300})});
  REQUIRE(few.size() == 1);
  CHECK_FALSE(few[0].chance);
  CHECK(few[0].percent);
  CHECK(few[0].time_is == TimeIs::kLeast);
  CHECK(compare({times(8, {10}, {5})}, {times(8, {20})})[0].median_a_ns == 10.0);
  CHECK(compare({times(8, {10}, {5})}, {times(8, {20}, {7})})[0].median_a_ns == 5.0);
  const auto apart = compare({times(8, {10})}, {times(9, {20})});
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].count_b == 0);
  CHECK(apart[1].count_a == 0);
  CHECK_FALSE(apart[0].percent);
}

// Operations of a size class that take a moment, and then so long a byte.
TimesOfKind times_of_sizes(const std::vector<std::uint64_t>& sizes_bytes, std::int64_t moment_ns,
                           std::int64_t per_byte_ns) {
  TimesOfKind one = times(1024, {});
  one.kind.function = "AlltoAllv";
  one.kind.is_size_class = true;
  for (const std::uint64_t bytes : sizes_bytes) {
    const std::int64_t time_ns = moment_ns + per_byte_ns * static_cast<std::int64_t>(bytes);
    one.least_ns.push_back(time_ns);
    one.least_of_size.push_back({bytes, time_ns});
  }
  std::sort(one.least_ns.begin(), one.least_ns.end());
  return one;
}

TEST_CASE("A size class is slower only where its sizes do not explain it") {
  std::vector<std::uint64_t> less;
  std::vector<std::uint64_t> more;
  for (std::uint64_t i = 0; i < 20; ++i) {
    less.push_back(1024 + 10 * i);
    more.push_back(1800 + 10 * i);
  }
  const auto change_of = [](const TimesOfKind& a, const TimesOfKind& b) {
    const auto changes = compare({a}, {b});
    REQUIRE(changes.size() == 1);
    return changes[0];
  };
  SECTION("of the same sizes, more time") {
    const Change change = change_of(times_of_sizes(less, 1000, 10), times_of_sizes(less, 1000, 15));
    CHECK(change.is_significant());
    CHECK(*change.percent == Approx(45.86).margin(0.1));
    CHECK(report::got_slower(change, 5));
    CHECK(*change.bytes == 1024 + 90);
    CHECK(*change.bytes_min == 1024);
    CHECK(*change.bytes_max == 1024 + 190);
    CHECK(*change.busbw_a_gb_s == Approx(0.0918).margin(0.001));
  }
  SECTION("more bytes take more time, fewer take more for each") {
    for (const std::int64_t moment_ns : {0, 1000, 1'000'000}) {
      const auto few = times_of_sizes(less, moment_ns, 10);
      const auto many = times_of_sizes(more, moment_ns, 10);
      for (const Change& change : {change_of(few, many), change_of(many, few)}) {
        CHECK_FALSE(report::got_slower(change, 0));
        CHECK_FALSE(change.is_significant());
      }
    }
  }
  SECTION("the lesser of both changes counts") {
    const Change change = change_of(times_of_sizes(less, 0, 10), times_of_sizes(more, 0, 12));
    CHECK(change.is_significant());
    CHECK(*change.percent == Approx(20));
  }
  SECTION("of one side only, it has sizes all the same") {
    const auto changes = compare({}, {times_of_sizes(less, 0, 10)});
    REQUIRE(changes.size() == 1);
    CHECK(*changes[0].bytes_max == 1024 + 190);
    CHECK_FALSE(changes[0].chance);
  }
}

}  // namespace
}  // namespace ringside::metrics
