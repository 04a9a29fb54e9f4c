// SPDX-License-Identifier: Apache-2.0
//
// Tests who is charged around operations with a root, which do not hold up all ranks alike. Times
// are made by hand, so the truth is in each test.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/metrics/stragglers.h"
#include "test/unit/analyzer/late_ranks.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kMillisecond_ns = 1'000'000;

// One operation of an iteration: when each rank starts and ends, from the begin of the iteration.
struct Step {
  std::string function;
  std::uint32_t root = 0;
  std::vector<std::int64_t> starts_ns;
  std::vector<std::int64_t> ends_ns;
};

// Calls steps_of(i) for each iteration. All ranks are on one host, and their stamps have no error.
template <typename StepsOf>
Stragglers find(std::uint32_t ranks, int iterations, std::int64_t period_ns, StepsOf steps_of) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_file(rank, "0x1", ranks);
    for (int i = 0; i < iterations; ++i) {
      const std::int64_t at_ns = kMillisecond_ns + period_ns * i;
      for (const Step& step : steps_of(i)) {
        model::Operation& one = builder.add(step.function, static_cast<std::uint64_t>(i));
        if (step.function == "Reduce" || step.function == "Broadcast") {
          one.root = step.root;
        }
        one.start_ns = at_ns + step.starts_ns[rank];
        one.enqueue_start_ns = *one.start_ns;
        one.enqueue_end_ns = *one.start_ns;
        one.end_ns = at_ns + step.ends_ns[rank];
      }
    }
  }
  return find_late_ranks(builder.traces());
}

// Rank 3 comes 15 ms late, and only the root waits for it.
Step reduce_with_late_rank() {
  return {"Reduce",
          0,
          {0, 0, 0, 15 * kMillisecond_ns},
          {15 * kMillisecond_ns + 100'000, 100'000, 100'000, 15 * kMillisecond_ns + 50'000}};
}

TEST_CASE("a root that waited in a Reduce passes on what it makes others wait") {
  const Step reduce = reduce_with_late_rank();
  const Step all_reduce = {
      "AllReduce",
      0,
      {15 * kMillisecond_ns + 200'000, 200'000, 200'000, 15 * kMillisecond_ns + 150'000},
      std::vector<std::int64_t>(4, 15 * kMillisecond_ns + 300'000)};
  const Stragglers found = find(4, 100, 17 * kMillisecond_ns, [&](int) {
    return std::vector<Step>{reduce, all_reduce};
  });
  // In each iteration rank 0 waits 15 ms for rank 3, and so two ranks 15 ms for rank 0. Without the
  // lateness of rank 3 nobody would wait for longer than 0.1 ms.
  const Lateness& late = lateness_of(found, "rank 3");
  CHECK(late.cost_ns <= 4500 * kMillisecond_ns);
  CHECK(late.cost_ns == Approx(4500 * kMillisecond_ns).epsilon(0.02));
  CHECK(late.cost_most_ns >= 4500 * kMillisecond_ns);
  CHECK(late.is_straggler);
  const Lateness& root = lateness_of(found, "rank 0");
  CHECK(root.caused_wait_ns == Approx(3000 * kMillisecond_ns).epsilon(0.01));
  CHECK(root.passed_on_ns == Approx(3000 * kMillisecond_ns).epsilon(0.02));
  CHECK(root.cost_ns <= 15 * kMillisecond_ns);
  CHECK_FALSE(root.is_straggler);
}

TEST_CASE("what a waiting rank has waited alike is not passed on again") {
  const Step reduce = reduce_with_late_rank();
  const Step broadcast = {
      "Broadcast",
      0,
      {15 * kMillisecond_ns + 100'000, 200'000, 200'000, 15 * kMillisecond_ns + 100'000},
      std::vector<std::int64_t>(4, 15 * kMillisecond_ns + 200'000)};
  const Step all_reduce = {"AllReduce",
                           0,
                           {20 * kMillisecond_ns + 200'000, 15 * kMillisecond_ns + 200'000,
                            15 * kMillisecond_ns + 200'000, 15 * kMillisecond_ns + 200'000},
                           std::vector<std::int64_t>(4, 20 * kMillisecond_ns + 300'000)};
  const Stragglers found = find(4, 100, 22 * kMillisecond_ns, [&](int) {
    return std::vector<Step>{reduce, broadcast, all_reduce};
  });
  // The root itself comes 5 ms late to the AllReduce, in which three ranks wait for it. What ranks
  // 1 and 2 waited for it in the Broadcast, 14.9 ms, was due to rank 3.
  const Lateness& root = lateness_of(found, "rank 0");
  CHECK(root.cost_ns <= 1500 * kMillisecond_ns);
  CHECK(root.cost_ns == Approx(1500 * kMillisecond_ns).epsilon(0.05));
  CHECK(root.cost_most_ns >= 1500 * kMillisecond_ns);
  CHECK(lateness_of(found, "rank 3").cost_ns ==
        Approx((1500 + 2 * 1490) * kMillisecond_ns).epsilon(0.02));
}

// Rank 3 comes to the i-th Reduce late_ns(i) later than the others, and only the root waits for it.
template <typename LateNs, typename RootOf>
Stragglers find_late_for_root(std::int64_t period_ns, LateNs late_ns, RootOf root_of) {
  return find(4, 100, period_ns, [&](int i) {
    Step step{"Reduce", root_of(i), {0, 0, 0, late_ns(i)}, {}};
    step.ends_ns = {100'000, 100'000, 100'000, late_ns(i) + 100'000};
    step.ends_ns[step.root] = late_ns(i) + 100'000;
    return std::vector<Step>{step};
  });
}

TEST_CASE("a rank that is always late for roots that go round is a straggler") {
  const Stragglers found = find_late_for_root(
      17 * kMillisecond_ns, [](int) { return 15 * kMillisecond_ns; },
      [](int i) { return static_cast<std::uint32_t>(i) % 4; });
  // Every fourth root is rank 3 itself, and nobody waits.
  const Lateness& late = lateness_of(found, "rank 3");
  CHECK(late.cost_ns == Approx(75 * 15 * kMillisecond_ns).epsilon(0.01));
  CHECK(late.is_straggler);
  for (const char* const other : {"rank 0", "rank 1", "rank 2"}) {
    CHECK_FALSE(lateness_of(found, other).is_straggler);
  }
}

TEST_CASE("a rank that needs longer for each Reduce to one root is a straggler") {
  // It falls behind by a millisecond more each time.
  const Stragglers found = find_late_for_root(
      200 * kMillisecond_ns, [](int i) { return (15 + i) * kMillisecond_ns; },
      [](int) { return 0U; });
  const Lateness& late = lateness_of(found, "rank 3");
  CHECK(late.cost_ns == Approx((100 * 15 + 99 * 100 / 2) * kMillisecond_ns).epsilon(0.01));
  CHECK(late.is_straggler);
  CHECK_FALSE(lateness_of(found, "rank 1").is_straggler);
}

TEST_CASE("a rank that stays behind the root of Reduces is not late again and again") {
  // It was late once. Since nobody makes it wait, it stays behind, and takes no longer than others.
  const Stragglers found = find_late_for_root(
      17 * kMillisecond_ns, [](int) { return 15 * kMillisecond_ns; }, [](int) { return 0U; });
  const Lateness& late = lateness_of(found, "rank 3");
  CHECK(late.cost_ns == Approx(100 * 15 * kMillisecond_ns).epsilon(0.01));
  CHECK_FALSE(late.is_straggler);
}

TEST_CASE("ranks that are late for the root of a Reduce in turn are no stragglers") {
  std::uint32_t random = 1;  // of the generator of Numerical Recipes
  std::vector<std::uint32_t> late;
  for (int i = 0; i < 200; ++i) {
    random = random * 1664525 + 1013904223;
    late.push_back(1 + (random >> 16U) % 3);
  }
  const Stragglers found = find(4, 200, 3 * kMillisecond_ns, [&](int i) {
    Step step = {"Reduce", 0, {0, 0, 0, 0}, {kMillisecond_ns + 100'000, 100'000, 100'000, 100'000}};
    step.starts_ns[late[static_cast<std::size_t>(i)]] = kMillisecond_ns;
    step.ends_ns[late[static_cast<std::size_t>(i)]] = kMillisecond_ns + 50'000;
    return std::vector<Step>{step};
  });
  for (const Lateness& one : found.ranks) {
    INFO(one.label);
    CHECK_FALSE(one.is_straggler);
  }
}

TEST_CASE("two great delays make no straggler of a rank that is always late by little") {
  const Stragglers found = find(4, 20, 10 * kMillisecond_ns, [&](int i) {
    const std::int64_t late_ns = i == 7 || i == 15 ? 9 * kMillisecond_ns : 150'000;
    return std::vector<Step>{
        {"AllReduce", 0, {0, 0, 0, late_ns}, std::vector<std::int64_t>(4, late_ns + 100'000)}};
  });
  // That both fall on one of four ranks is one chance in four. The rest costs 1 % of all time.
  const Lateness& rank = lateness_of(found, "rank 3");
  CHECK(found.share_of(rank) > 0.05);
  CHECK_FALSE(rank.is_straggler);
}

// Rank 0 comes late to Broadcasts from it, by that much in each; for nobody else can others wait.
Stragglers broadcast(const std::vector<std::int64_t>& late_ns) {
  return find(4, static_cast<int>(late_ns.size()), 40 * kMillisecond_ns, [&](int i) {
    const std::int64_t late = late_ns[static_cast<std::size_t>(i)];
    const std::int64_t end = late + 100'000;
    return std::vector<Step>{{"Broadcast", 0, {late, 0, 0, 0}, {end, end, end, end}}};
  });
}

TEST_CASE("the late arrivals of the only root are compared with each other") {
  std::vector<std::int64_t> late_ns(20, kMillisecond_ns / 10);
  late_ns[10] = 30 * kMillisecond_ns;
  CHECK(lateness_of(broadcast(late_ns), "rank 0").was_late_once);
  late_ns[15] = 2 * kMillisecond_ns;  // less than thirty times as much
  CHECK_FALSE(lateness_of(broadcast(late_ns), "rank 0").was_late_once);
}

TEST_CASE("a late rank that is the root of many operations is a straggler by its own times") {
  // Rank 0 comes 5 ms late to each AllReduce, and all come together to a Broadcast of it, which it
  // leaves sooner than the others, or to a Reduce, which it leaves later. Its root need not be
  // late: beside noise of 0.1 ms, that it leaves sooner or later shows nothing.
  const bool is_late = GENERATE(true, false);
  const std::string function = GENERATE("Broadcast", "Reduce");
  std::mt19937_64 random(20261127);
  std::uniform_int_distribution<std::int64_t> noise(0, kMillisecond_ns / 10);
  std::vector<std::vector<Step>> all;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int64_t> starts_ns;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      starts_ns.push_back(noise(random) + (rank == 0 && is_late ? 5 * kMillisecond_ns : 0));
    }
    const std::int64_t end_ns =
        *std::max_element(starts_ns.begin(), starts_ns.end()) + kMillisecond_ns / 20;
    const std::int64_t first_ns = end_ns + 10'000;
    std::vector<std::int64_t> ends_ns(4, first_ns + 40'000);
    ends_ns[0] += function == "Reduce" ? 20'000 : -20'000;
    all.push_back({{"AllReduce", 0, starts_ns, std::vector<std::int64_t>(4, end_ns)},
                   {function, 0, std::vector<std::int64_t>(4, first_ns), ends_ns}});
  }
  const Stragglers found =
      find(4, 100, 10 * kMillisecond_ns, [&](int i) { return all[static_cast<std::size_t>(i)]; });
  CHECK(lateness_of(found, "rank 0").is_straggler == is_late);
  for (const char* const other : {"rank 1", "rank 2", "rank 3"}) {
    CHECK_FALSE(lateness_of(found, other).is_straggler);
  }
}

}  // namespace
}  // namespace ringside::metrics
