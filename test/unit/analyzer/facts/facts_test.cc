// SPDX-License-Identifier: Apache-2.0
//
// Intervals of the facts against jobs whose truth is known by construction: when each rank came,
// how long the data took, and how far each rank's stamps are from the moments they stand for.
#include "analyzer/facts/facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::facts {
namespace {

// A small job: one operation, in true time. A rank's stamps are late by one constant, as those of a
// GPU whose clock is fitted to late callbacks; its call is as much before it at least.
struct Job {
  std::string function;
  std::uint32_t root = 0;
  std::int64_t data_ns = 0;  // that the data take once all is there that they need
  bool is_buffered = false;  // a message that fits into the buffers on the way
  std::vector<std::int64_t> arrivals_ns;
  std::vector<std::int64_t> ends_ns;
  std::vector<std::int64_t> late_ns;
  std::vector<std::int64_t> waits_ns;  // the truth
  // Ranks whose GPU was seen so long after their arrival, and called as long before. 0: at once.
  std::vector<std::int64_t> unseen_ns;

  std::size_t ranks() const { return arrivals_ns.size(); }
  std::int64_t last_ns() const { return *std::max_element(arrivals_ns.begin(), arrivals_ns.end()); }
};

constexpr std::int64_t kCopy_ns = 3'000;  // out of a buffer that is full already

// The rules of NCCL as docs/metrics.md has them, played forwards.
void run(Job& job) {
  const bool from_root = job.function == "Broadcast";
  const bool to_root = job.function == "Reduce";
  const std::int64_t root_ns = job.arrivals_ns[job.root];
  for (std::size_t i = 0; i < job.ranks(); ++i) {
    const std::int64_t own_ns = job.arrivals_ns[i];
    std::int64_t ready_ns = job.last_ns();
    if (job.is_buffered && from_root) {
      // The data were sent when the root came, and lie there since.
      ready_ns = i == job.root ? own_ns : root_ns;
    } else if (job.is_buffered && to_root) {
      ready_ns = own_ns;
      for (std::size_t k = 0; i == job.root && k < job.ranks(); ++k) {
        ready_ns = k == job.root ? ready_ns : std::max(ready_ns, job.arrivals_ns[k]);
      }
      if (i == job.root) {
        ready_ns = 0;
        for (std::size_t k = 0; k < job.ranks(); ++k) {
          ready_ns = k == job.root ? ready_ns : std::max(ready_ns, job.arrivals_ns[k]);
        }
      }
    }
    job.ends_ns.push_back(std::max(ready_ns + job.data_ns, own_ns + kCopy_ns));
    job.waits_ns.push_back(
        std::clamp<std::int64_t>(ready_ns - own_ns, 0, job.ends_ns.back() - own_ns));
  }
}

model::Traces& traces_of(const Job& job, bool on_one_host, TraceBuilder& builder) {
  const auto ranks = static_cast<std::uint32_t>(job.ranks());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", ranks);
    file.process.host = on_one_host ? "node" : "node" + std::to_string(rank);
    file.process.boot_id = file.process.host;
    model::Operation& one = builder.add(job.function, 0);
    one.root = job.function == "AllReduce" ? std::nullopt : std::optional(job.root);
    const std::int64_t unseen_ns = job.unseen_ns.empty() ? 0 : job.unseen_ns[rank];
    one.times_from = job.unseen_ns.empty() ? model::TimesFrom::kGpu : model::TimesFrom::kProxy;
    one.start_is_latest = unseen_ns > 0;
    one.enqueue_start_ns = job.arrivals_ns[rank] - unseen_ns - 1'000;
    one.enqueue_end_ns = job.arrivals_ns[rank];
    one.start_ns = job.arrivals_ns[rank] + unseen_ns + job.late_ns[rank];
    one.end_ns = job.ends_ns[rank] + job.late_ns[rank];
  }
  return builder.traces();
}

Job draw(const std::string& function, std::mt19937_64& random) {
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Job job;
  job.function = function;
  const auto ranks = static_cast<std::size_t>(between(2, 6));
  job.root = static_cast<std::uint32_t>(between(0, static_cast<std::int64_t>(ranks) - 1));
  job.data_ns = between(5'000, 500'000);
  job.is_buffered = function != "AllReduce" && between(0, 1) == 1;
  const std::int64_t spread_ns = between(0, 1) == 1 ? 300'000 : 20'000;
  for (std::size_t i = 0; i < ranks; ++i) {
    job.arrivals_ns.push_back(1'000'000 + between(0, spread_ns));
    job.late_ns.push_back(between(0, 10'000));
  }
  run(job);
  const bool is_by_network = between(0, 2) == 0;
  for (std::size_t i = 0; is_by_network && i < ranks; ++i) {
    job.unseen_ns.push_back(between(0, 1) * between(0, job.ends_ns[i] - job.arrivals_ns[i]));
  }
  return job;
}

TEST_CASE("the interval of the time holds how long the data took", "[answers]") {
  std::mt19937_64 random(1);
  std::size_t narrow = 0;
  for (const char* const function : {"AllReduce", "Broadcast", "Reduce"}) {
    for (int i = 0; i < 2'000; ++i) {
      const Job job = draw(function, random);
      const bool on_one_host = i % 2 == 0;
      TraceBuilder builder;
      const model::Traces& traces = traces_of(job, on_one_host, builder);
      const match::Matches matches = match::match_operations(traces);
      const auto alignment = align::Alignment::none(traces);
      const Facts facts(traces, matches, alignment);
      REQUIRE(facts.operations().size() == 1);
      const OperationFacts& operation = facts.operations()[0];
      INFO(function << " " << i);
      CHECK_FALSE(operation.is_impossible);
      REQUIRE(operation.busy);
      narrow += operation.busy->most_ns <= 2 * operation.busy->least_ns ? 1 : 0;
      CHECK(operation.busy->least_ns <= std::max(job.data_ns, kCopy_ns));
      CHECK(operation.busy->most_ns >= job.data_ns);
      CHECK(operation.best_busy_ns >= operation.busy->least_ns);
      CHECK(operation.best_busy_ns <= operation.busy->most_ns);
      std::vector<RankTimes> rows;
      facts.ranks_of(0, rows);
      for (const RankTimes& rank : rows) {
        CHECK(rank.wait.least_ns <= job.waits_ns[rank.member]);
        CHECK(rank.wait.most_ns >= job.waits_ns[rank.member]);
        CHECK(rank.wait.most_ns <= rank.most_wall_ns());
      }
    }
  }
  // They are of use, too.
  CHECK(narrow > 1'500);
}

TEST_CASE("a leaf that comes late is no transfer and has nobody wait for it") {
  // Rank 0 broadcasts 64 KiB at once; rank 1 comes 10 ms later and finds it in its buffer.
  Job job;
  job.function = "Broadcast";
  job.is_buffered = true;
  job.data_ns = 20'000;
  job.arrivals_ns = {1'000'000, 11'000'000};
  job.late_ns = {0, 0};
  run(job);
  TraceBuilder builder;
  const model::Traces& traces = traces_of(job, true, builder);
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  const OperationFacts& operation = facts.operations()[0];
  REQUIRE(operation.busy);
  CHECK(operation.busy->least_ns <= 20'000);
  CHECK(operation.busy->most_ns >= 10'000'000);
  std::vector<RankTimes> rows;
  facts.ranks_of(0, rows);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].wait.least_ns == 0);
  CHECK(rows[0].wait.most_ns <= rows[0].most_wall_ns());
  CHECK(rows[1].wait.least_ns == 0);
}

TEST_CASE("a receive waits for its send, and a send surely for nobody") {
  TraceBuilder builder;
  builder.add_file(0);
  model::Operation& send = builder.add_transfer("Send", 1);
  send.enqueue_start_ns = send.start_ns = 5'000'000;
  send.end_ns = 5'100'000;
  builder.add_file(1);
  model::Operation& receive = builder.add_transfer("Recv", 0);
  receive.enqueue_start_ns = receive.start_ns = 1'000'000;
  receive.end_ns = 5'101'000;
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  std::vector<RankTimes> rows;
  facts.ranks_of(0, rows);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].wait.least_ns <= 4'000'000);
  CHECK(rows[0].wait.least_ns > 3'990'000);
  CHECK(rows[0].waits_for == 1U);
  CHECK(rows[1].wait.least_ns == 0);
  CHECK(rows[1].waits_for == RankTimes::kNobody);
  REQUIRE(facts.operations()[0].busy);
  CHECK(facts.operations()[0].best_busy_ns == 100'000);  // the last to come waits for nobody
}

TEST_CASE("a rank's own time from the network is known to the lateness of both its stamps") {
  // One rank alone: its stamps are from 0 to 20 us late, each by itself (docs/metrics.md).
  TraceBuilder builder;
  builder.add_file(0, "0x1", 1);
  model::Operation& one = builder.add("AllReduce", 0);
  one.times_from = model::TimesFrom::kProxy;
  one.enqueue_start_ns = 900'000;
  one.start_ns = 1'000'000;
  one.end_ns = 1'500'000;
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  REQUIRE(facts.operations()[0].busy);
  CHECK(facts.operations()[0].busy->least_ns == 480'000);
  CHECK(facts.operations()[0].busy->most_ns == 520'000);
}

TEST_CASE("a wait may be as long as the wall that late stamps of the network leave possible") {
  // Rank 0 starts at 0 and ends at 103 us; its start is told 20 us late, all other stamps are
  // exact. It waits 100 us for rank 1.
  TraceBuilder builder;
  for (const std::uint32_t rank : {0U, 1U}) {
    builder.add_file(rank);
    model::Operation& one = builder.add("AllReduce", 0);
    one.times_from = model::TimesFrom::kProxy;
    one.enqueue_start_ns = 1'000'000;
    one.start_ns = rank == 0 ? 1'020'000 : 1'100'000;
    one.end_ns = 1'103'000;
  }
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  std::vector<RankTimes> rows;
  facts.ranks_of(0, rows);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].wait.least_ns <= 100'000);
  CHECK(rows[0].wait.most_ns >= 100'000);
}

TEST_CASE("a rank that was first seen to take data may have come at any time since its call") {
  // Rank 1 comes 19 ms late. Rank 2 takes its data 0.1 ms after that.
  TraceBuilder builder;
  const auto add = [&](std::uint32_t rank, std::int64_t called_ns, std::int64_t start_ns) {
    builder.add_file(rank);
    model::Operation& one = builder.add("AllReduce", 0);
    one.times_from = model::TimesFrom::kProxy;
    one.enqueue_start_ns = called_ns;
    one.start_ns = start_ns;
    one.end_ns = 21'000'000;
    return &one;
  };
  add(0, 900'000, 1'000'000);
  add(1, 19'900'000, 20'000'000);
  add(2, 1'000'000, 20'100'000)->start_is_latest = true;
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  std::vector<RankTimes> rows;
  const OperationFacts known = facts.ranks_of(0, rows);
  REQUIRE(rows.size() == 3);
  // By their arrivals: rank 0, rank 2 with its call, rank 1.
  CHECK(rows[1].member == 2);
  CHECK(rows[1].arrival_ns == 1'000'000);
  CHECK(rows[1].open_ns == 19'100'000);
  CHECK(rows[1].wall_ns() == 20'000'000);
  // Its end is less than 20 us late, and so is that moment.
  CHECK(rows[1].least_wall_ns() == 880'000);
  CHECK(rows[1].wait.least_ns == 0);
  CHECK(rows[1].wait.most_ns >= 19'000'000);
  // Rank 0 waited for rank 1, whether rank 2 was there or not.
  CHECK(rows[0].waits_for == 2U);
  CHECK(rows[0].wait.least_ns == 18'960'000);
  CHECK(rows[0].wait.most_ns >= 19'100'000);
  REQUIRE(known.busy);
  CHECK(known.busy->least_ns <= 900'000);
  CHECK(known.busy->least_ns >= 880'000);
  CHECK(known.busy->most_ns <= 1'020'000);
  CHECK(known.best_busy_ns == 900'000);  // of rank 2, since it was seen
}

TEST_CASE("nothing is known between hosts whose clocks are not known") {
  // Both are there 1 ms, and their clocks are 3 ms apart.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank);
    file.process.host = file.process.boot_id = "node" + std::to_string(rank);
    model::Operation& one = builder.add("AllReduce", 0);
    one.enqueue_start_ns = one.start_ns = 10'000'000 + rank * 3'000'000;
    one.end_ns = *one.start_ns + 1'000'000;
  }
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  CHECK_FALSE(facts.operations()[0].is_impossible);
  REQUIRE(facts.operations()[0].busy);
  CHECK(facts.operations()[0].busy->least_ns == 1'000'000 - align::kGpuStep_ns);
  CHECK(facts.operations()[0].busy->most_ns == 1'000'000 + align::kGpuStep_ns);
  std::vector<RankTimes> rows;
  facts.ranks_of(0, rows);
  CHECK(clock_error_ns(rows[0], rows[1]) == kUnknownClock_ns);
}

TEST_CASE("the step of a GPU's timer is in the interval of a short operation") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    Job job = draw("AllReduce", random);
    job.data_ns = 4'000 + i;
    job.ends_ns.clear();
    job.waits_ns.clear();
    job.unseen_ns.clear();
    run(job);
    TraceBuilder builder;
    traces_of(job, true, builder);
    for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
      model::Operation& one = builder.operations(rank)[0];
      one.start_ns = *one.start_ns / 1'000 * 1'000;
      one.end_ns = *one.end_ns / 1'000 * 1'000;
    }
    const model::Traces& traces = builder.traces();
    const match::Matches matches = match::match_operations(traces);
    const auto alignment = align::Alignment::none(traces);
    const Facts facts(traces, matches, alignment);
    REQUIRE(facts.operations()[0].busy);
    INFO(i);
    CHECK(facts.operations()[0].busy->least_ns <= job.data_ns);
    CHECK(facts.operations()[0].busy->most_ns >= job.data_ns);
  }
}

// Two hosts of two ranks each, whose clocks run at rates of their own. From the middle on, rank 3
// comes late to what follows each AllReduce, or to each AllReduce if nothing does.
struct LongWaits {
  std::int64_t late_ns;
  std::string function;  // after each AllReduce; none if it is empty
  bool is_buffered = false;
};

std::int64_t own_ns(std::uint32_t rank, std::int64_t true_ns) {
  const double rate = rank < 2 ? -42.8e-6 : 7.7e-6;
  return true_ns + (rank < 2 ? 170 : 8'810) + std::llround(rate * static_cast<double>(true_ns));
}

std::vector<Job> draw_long_waits(const LongWaits& kind) {
  constexpr int kIterations = 80;
  std::mt19937_64 random(3);
  std::vector<Job> jobs;
  std::vector<std::int64_t> ready_ns(4, 1'000'000'000);
  for (int i = 0; i < kIterations; ++i) {
    for (const std::string& function : {std::string("AllReduce"), kind.function}) {
      if (function.empty()) {
        continue;
      }
      Job& job = jobs.emplace_back();
      job.function = function;
      job.is_buffered = kind.is_buffered && function != "AllReduce";
      job.data_ns = std::uniform_int_distribution<std::int64_t>(20'000, 22'000)(random);
      const bool is_late =
          i > kIterations / 3 && (kind.function.empty() || function != "AllReduce");
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        const auto own_time_ns =
            std::uniform_int_distribution<std::int64_t>(2'000'000, 2'050'000)(random);
        job.arrivals_ns.push_back(ready_ns[rank] + own_time_ns +
                                  (is_late && rank == 3 ? kind.late_ns : 0));
        job.late_ns.push_back(0);
      }
      run(job);
      ready_ns = job.ends_ns;
    }
  }
  return jobs;
}

TEST_CASE("long waits are as exact as the clock of the rank's own host") {
  const auto kind =
      GENERATE(LongWaits{500'000'000, ""}, LongWaits{500'000'000, "Broadcast", true},
               LongWaits{500'000'000, "Reduce", true}, LongWaits{3'000'000'000, "Broadcast", true},
               LongWaits{3'000'000'000, "Broadcast", false});
  const std::vector<Job> jobs = draw_long_waits(kind);
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 4);
    file.process.host = file.process.boot_id = rank < 2 ? "node0" : "node1";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      model::Operation& one = builder.add(jobs[i].function, i);
      one.root = jobs[i].function == "AllReduce" ? std::nullopt : std::optional(0U);
      one.times_from = model::TimesFrom::kGpu;
      one.start_ns = own_ns(rank, jobs[i].arrivals_ns[rank]);
      one.enqueue_start_ns = *one.start_ns - 1'000;
      one.enqueue_end_ns = *one.start_ns;
      one.end_ns = own_ns(rank, jobs[i].ends_ns[rank]);
    }
  }
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::estimate(traces);
  REQUIRE(alignment.is_aligned());
  const Facts facts(traces, matches, alignment);
  REQUIRE(facts.operations().size() == jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // Times are rounded to nanoseconds.
    constexpr std::int64_t kRounded_ns = 3;
    const match::MatchedOperation& matched = matches.operations[i];
    const Job& job = jobs[*match::operation_of(traces, matches.parts[matched.first_part]).seq];
    INFO(job.function << " " << i << " of " << kind.late_ns << " ns");
    const OperationFacts& operation = facts.operations()[i];
    REQUIRE(operation.busy);
    CHECK(operation.busy->least_ns <= job.data_ns + kRounded_ns);
    CHECK(operation.busy->most_ns >= job.data_ns - kRounded_ns);
    std::vector<RankTimes> rows;
    facts.ranks_of(i, rows);
    REQUIRE(rows.size() == 4);
    for (const RankTimes& rank : rows) {
      const std::int64_t arrival_ns = job.arrivals_ns[rank.member];
      const std::int64_t wait_ns = own_ns(rank.member, arrival_ns + job.waits_ns[rank.member]) -
                                   own_ns(rank.member, arrival_ns);
      CHECK(rank.wait.least_ns <= wait_ns + kRounded_ns);
      CHECK(rank.wait.most_ns >= wait_ns - kRounded_ns);
    }
  }
}

}  // namespace
}  // namespace ringside::facts
