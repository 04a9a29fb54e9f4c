// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "analyzer/metrics/significance.h"
#include "analyzer/report/compare_report.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

std::vector<TimedOperation> timed(const std::vector<std::int64_t>& times_ns, std::uint32_t run = 0,
                                  std::int64_t error_ns = 0) {
  std::vector<TimedOperation> all;
  for (const std::int64_t time_ns : times_ns) {
    TimedOperation one;
    one.run = run;
    one.at_ns = static_cast<std::int64_t>(all.size());
    one.time = {time_ns - error_ns, time_ns + error_ns};
    one.best_ns = time_ns;
    all.push_back(one);
  }
  return all;
}

TimesOfKind times(std::uint64_t bytes, const std::vector<std::int64_t>& times_ns) {
  TimesOfKind one;
  one.kind.communicator = "world";
  one.kind.nranks = 4;
  one.kind.function = "AllReduce";
  one.kind.bytes = bytes;
  one.ranks = 4;
  one.times = timed(times_ns);
  return one;
}

// How the times of a job vary.
struct Job {
  double correlation = 0;  // of each time with the one before
  double spread = 0.05;    // a standard deviation, as a share of the time
  double of_runs = 0;      // likewise, from run to run
  int runs = 1;
  int operations = 200;
  double factor = 1;
  std::int64_t error_ns = 500;  // of about 100 us: an interval of 1 %
  double tail = 0;              // so many of the times are three times as long
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  double unit() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }

  double normal() {
    const double angle = 2 * 3.14159265358979323846 * unit();
    return std::sqrt(-2 * std::log(unit())) * std::cos(angle);
  }

  TimesOfKind kind(std::uint64_t bytes, const Job& job) {
    TimesOfKind made = times(bytes, {});
    for (int run = 0; run < job.runs; ++run) {
      const double own = job.of_runs * normal();
      double wave = normal();
      std::vector<std::int64_t> times_ns;
      for (int i = 0; i < job.operations; ++i) {
        wave = job.correlation * wave + std::sqrt(1 - job.correlation * job.correlation) * normal();
        const double tail = job.tail > 0 && unit() < job.tail ? 3 : 1;
        times_ns.push_back(
            std::llround(100'000 * job.factor * tail * std::exp(own + job.spread * wave)));
      }
      for (const TimedOperation& one :
           timed(times_ns, static_cast<std::uint32_t>(run), job.error_ns)) {
        made.times.push_back(one);
      }
    }
    return made;
  }

 private:
  std::mt19937_64 random_;
};

// Both sides of one comparison with some kinds.
std::vector<Change> compare_jobs(std::uint64_t seed, const Job& a, const Job& b, int kinds = 5) {
  Generator generator(seed);
  std::vector<TimesOfKind> side_a;
  std::vector<TimesOfKind> side_b;
  for (int i = 1; i <= kinds; ++i) {
    side_a.push_back(generator.kind(static_cast<std::uint64_t>(i), a));
    side_b.push_back(generator.kind(static_cast<std::uint64_t>(i), b));
  }
  return compare(side_a, side_b);
}

bool has_finding(const std::vector<Change>& changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [](const Change& change) { return change.is_significant(); });
}

// Iterations of 20 ms that vary by half a percent, and by `factor` of it from the 41st on.
IterationTimes iterations_that_become(double factor, std::uint64_t seed) {
  Generator generator(seed);
  IterationTimes made;
  made.duration_ns.emplace_back();
  for (int i = 0; i < 120; ++i) {
    constexpr double kUsual_ns = 20e6;
    made.duration_ns.front().push_back(kUsual_ns * (i < 40 ? 1 : factor) *
                                       std::exp(0.005 * generator.normal()));
  }
  return made;
}

TEST_CASE("a run that goes to another level at a moment has changed, and that is no noise") {
  const auto change = compare(iterations_that_become(1, 1), iterations_that_become(1.35, 2));
  REQUIRE(change);
  CHECK(change->is_significant());
  CHECK(change->percent() > 30);
  const auto back = compare(iterations_that_become(1.35, 3), iterations_that_become(1, 4));
  REQUIRE(back);
  CHECK(back->is_significant());
  CHECK(back->percent() < -20);
  const auto none = compare(iterations_that_become(1, 5), iterations_that_become(1, 6));
  REQUIRE(none);
  CHECK_FALSE(none->is_significant());
}

TEST_CASE("Student's t, by tables and by hand") {
  CHECK(student_upper_tail(0, 5) == Approx(0.5));
  CHECK(student_upper_tail(1, 1) == Approx(0.25));  // Cauchy's distribution
  CHECK(student_upper_tail(std::sqrt(2), 2) == Approx(0.5 - std::sqrt(2) / 4));
  CHECK(student_upper_tail(2.228139, 10) == Approx(0.025).epsilon(1e-5));
  CHECK(student_upper_tail(6.868827, 5) == Approx(0.0005).epsilon(1e-5));
  CHECK(student_upper_tail(-2.228139, 10) == Approx(0.975).epsilon(1e-5));
  CHECK(student_upper_tail(1.959964, 1e7) == Approx(0.025).epsilon(1e-4));  // the normal one
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

// 500 pairs of equal jobs, a fifth of each sort.
int pairs_with_finding(std::uint64_t first_seed) {
  const std::vector<Job> jobs = {{},
                                 {.correlation = 0.6},
                                 {.correlation = 0.9},
                                 {.correlation = 0.95, .spread = 0.1},
                                 {.correlation = 0.5, .of_runs = 0.03, .runs = 3}};
  int wrong = 0;
  for (std::uint64_t pair = 0; pair < 500; ++pair) {
    const Job& job = jobs[pair % jobs.size()];
    wrong += has_finding(compare_jobs(first_seed + pair, job, job)) ? 1 : 0;
  }
  return wrong;
}

TEST_CASE("At most one in twenty pairs of equal jobs has a finding", "[one-thread]") {
  CHECK(pairs_with_finding(1) <= 25);
}

TEST_CASE("The same with many seeds", "[.long]") {
  for (std::uint64_t seed = 1000; seed < 10'000; seed += 500) {
    CHECK(pairs_with_finding(seed) <= 25);
  }
}

TEST_CASE("Noise that lasts for a quarter of the run makes no finding") {
  const Job job{.correlation = 0.98, .spread = 0.1};
  int wrong = 0;
  for (std::uint64_t pair = 0; pair < 100; ++pair) {
    wrong += has_finding(compare_jobs(70'000 + pair, job, job)) ? 1 : 0;
  }
  CHECK(wrong <= 5);
}

TEST_CASE("What is not known of the times alike on both sides hides no change") {
  const auto changes = compare_jobs(1, {.spread = 0.01, .error_ns = 4'000},
                                    {.spread = 0.01, .factor = 1.07, .error_ns = 4'000});
  CHECK(report::got_slower(changes[0], 5));
  CHECK(*changes[0].percent == Approx(7).margin(1));
  CHECK(*changes[0].percent_least < 0);
  CHECK(*changes[0].percent_most > 14);
}

TEST_CASE("The iterations are compared before single kinds") {
  const auto side = [](double factor) {
    IterationTimes made{{{}}, {}};
    for (int i = 0; i < 40; ++i) {
      made.duration_ns[0].push_back(factor * (1e6 + 1e4 * (i * 7 % 11)));
      made.waited_ns.push_back(factor * 1e5);
    }
    return made;
  };
  const auto slower = compare(side(1), side(1.1));
  REQUIRE(slower);
  CHECK(slower->percent() == Approx(10));
  CHECK(*slower->waited_b_ns == Approx(1.1e5));
  CHECK(report::got_slower(slower, 5));
  const report::Document document = report::compare_document(slower, {}, 5);
  CHECK(document.sentences.front().starts_with("Iterations got slower: "));
  CHECK_FALSE(report::got_slower(compare(side(1), side(1)), 5));
  CHECK_FALSE(compare(side(1), IterationTimes()));
}

TEST_CASE("Kinds that are a tenth slower are found with 200 operations each", "[one-thread]") {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const Change& change :
         compare_jobs(seed, {.correlation = 0.5}, {.correlation = 0.5, .factor = 1.1})) {
      found += report::got_slower(change, 5) ? 1 : 0;
      CHECK(change.judged_by == JudgedBy::kBlocks);
    }
  }
  CHECK(found >= 285);  // 95 % of 300
}

TEST_CASE("A few operations that take far longer hide no change of all the others",
          "[one-thread]") {
  const Job job{.spread = 0.02, .tail = 0.05};
  Job slower = job;
  slower.factor = 1.1;
  int found = 0;
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const Change& change : compare_jobs(seed, job, slower)) {
      found += report::got_slower(change, 5) ? 1 : 0;
    }
    wrong += has_finding(compare_jobs(1'000 + seed, job, job)) ? 1 : 0;
  }
  CHECK(found >= 285);  // 95 % of 300
  CHECK(wrong <= 3);    // 5 % of 60
}

TEST_CASE("Runs are compared where there are several, by hand") {
  // Medians of runs: A 100, 102 and 104 us; B 120, 122 and 124 us. Welch's t is of the logarithms.
  const auto side = [](const std::vector<std::int64_t>& medians_us) {
    TimesOfKind made = times(8, {});
    for (std::size_t run = 0; run < medians_us.size(); ++run) {
      const std::vector<std::int64_t> run_ns(9, 1000 * medians_us[run]);
      for (const TimedOperation& one : timed(run_ns, static_cast<std::uint32_t>(run))) {
        made.times.push_back(one);
      }
    }
    return made;
  };
  const auto changes = compare({side({100, 102, 104})}, {side({120, 122, 124})});
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].judged_by == JudgedBy::kRuns);
  CHECK(changes[0].units_a == 3);
  // Means 0.179086 apart, variances 0.0003847 and 0.0002688, t = 12.13, 3.88 degrees of
  // freedom: two-sided 0.000316.
  CHECK(*changes[0].chance == Approx(0.000316).epsilon(0.05));
  // One run against three: the variance of the three counts for both.
  const auto one = compare({side({100})}, {side({98, 102, 106})});
  CHECK(one[0].judged_by == JudgedBy::kRuns);
  CHECK_FALSE(one[0].is_significant());
}

TEST_CASE("A run that stays slow for long has few independent stretches") {
  TimesOfRun run;
  for (int i = 0; i < 200; ++i) {
    const double time_us = i < 100 ? 100 + i % 3 : 120 + i % 3;
    run.push_back(time_us);
  }
  CHECK(independent_blocks(run).count < kLeastBlocks);
}

TEST_CASE("A real change is found, and its size is told") {
  const auto changes = compare_jobs(1, {.operations = 40}, {.operations = 40, .factor = 1.5}, 1);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].is_significant());
  CHECK(*changes[0].percent == Approx(50).margin(5));
  CHECK(report::got_slower(changes[0], 5));
  CHECK_FALSE(report::got_slower(changes[0], 500));
}

TEST_CASE("Few operations are not judged") {
  const auto few = compare({times(8, {1, 2, 3})}, {times(8, {100, 200, 300})});
  REQUIRE(few.size() == 1);
  CHECK_FALSE(few[0].chance);
  CHECK(few[0].percent);
  const auto apart = compare({times(8, {10})}, {times(9, {20})});
  REQUIRE(apart.size() == 2);
  CHECK_FALSE(apart[0].is_in_b);
  CHECK_FALSE(apart[1].is_in_a);
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
    one.times.push_back(timed({time_ns})[0]);
    one.times.back().at_ns = static_cast<std::int64_t>(one.times.size());
    one.times.back().bytes = bytes;
  }
  return one;
}

TEST_CASE("A size class is slower only where its sizes do not explain it") {
  std::vector<std::uint64_t> less;
  std::vector<std::uint64_t> more;
  for (std::uint64_t i = 0; i < 20; ++i) {
    less.push_back(1024 + 10 * (i * 7 % 20));
    more.push_back(1800 + 10 * (i * 7 % 20));
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
