// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/iterations.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "analyzer/replay/job_parts.h"
#include "analyzer/replay/waits.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

using namespace ringside;
using metrics::find_iterations;

namespace {

constexpr std::int64_t kCall_ns = 10'000;   // from one call to the next
constexpr std::int64_t kPause_ns = 60'000;  // more before the first call of an iteration
constexpr std::int64_t kRun_ns = 4'000;     // of an operation, after its call

// Ranks that make the same calls; `late_ns` says by how much a rank is late in one.
class Job {
 public:
  explicit Job(std::uint32_t ranks) : ranks_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      builder_.add_file(rank, "0x1", ranks);
    }
  }

  template <typename Late>
  void call(const char* func, std::uint64_t bytes, Late late_ns,
            std::optional<std::uint32_t> root = std::nullopt) {
    const std::uint64_t seq = seq_[func]++;
    std::int64_t last_ns = 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      last_ns = std::max<std::int64_t>(last_ns, late_ns(rank));
    }
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      model::TraceFile& file = builder_.traces().files[rank];
      model::Operation one;
      one.id = file.operations.size() + 1;
      one.context = 1;
      one.func = builder_.traces().names.id(func);
      one.seq = seq;
      one.bytes = bytes;
      if (root) {
        one.root = *root;
      }
      one.enqueue_start_ns = now_ns_ + late_ns(rank);
      one.start_ns = *one.enqueue_start_ns;
      one.end_ns = now_ns_ + last_ns + kRun_ns;
      one.state = model::State::kCompleted;
      one.times_from = model::TimesFrom::kGpu;
      ++file.contexts[1].operations;
      file.operations.push_back(one);
      file.operations_written = file.operations.size();
    }
    now_ns_ += kCall_ns + last_ns;
  }
  void call(const char* func, std::uint64_t bytes) {
    call(func, bytes, [](std::uint32_t) { return 0; });
  }

  void call_from(std::uint32_t root) {
    call(
        "Broadcast", 700, [](std::uint32_t) { return 0; }, root);
  }
  void pause() { now_ns_ += kPause_ns; }

  // Four calls, in the second of which `late` is late by so much.
  void iterate(std::uint32_t late = 0, std::int64_t late_ns = 0) {
    now_ns_ += kPause_ns;
    call("AllGather", 1000);
    call("AllReduce", 5000, [&](std::uint32_t rank) { return rank == late ? late_ns : 0; });
    call("AllReduce", 5000);
    call("ReduceScatter", 1000);
  }

  std::vector<metrics::RunIterations> find(std::size_t length = 0) {
    const model::Traces& traces = builder_.traces();
    const match::Matches matches = match::match_operations(traces);
    const align::Alignment alignment = align::Alignment::estimate(traces);
    const facts::Facts facts(traces, matches, alignment);
    auto runs = find_iterations(facts, length);
    for (const replay::Job& job : replay::make_jobs(replay::find_parts(facts), traces, matches)) {
      REQUIRE(replay::add_waits(job, true, runs) == &runs.at(0));
    }
    return runs;
  }
  model::Traces& traces() { return builder_.traces(); }

 private:
  std::uint32_t ranks_;
  TraceBuilder builder_;
  std::int64_t now_ns_ = 1'000'000;
  std::map<std::string, std::uint64_t> seq_;
};

}  // namespace

TEST_CASE("iterations are found, measured, and the rank that is late in one is named") {
  Job job(4);
  job.call("Broadcast", 64);
  job.call("Broadcast", 128);
  for (int i = 0; i < 20; ++i) {
    job.iterate(3, i == 7 ? 50'000 : 0);
  }
  const auto runs = job.find();
  REQUIRE(runs.size() == 1);
  const metrics::RunIterations& run = runs[0];
  CHECK(run.reference == "rank 0");
  CHECK(run.period.size() == 4);
  CHECK(run.before == 2);
  CHECK(run.between == 0);
  CHECK(run.after == 0);
  REQUIRE(run.iterations.size() == 20);
  // It begins after the pause. Four calls and a pause, by hand: 4 x 10 + 60 = 100 us.
  CHECK(run.iterations[0].start_ns - run.zero_ns == 2 * kCall_ns + kPause_ns);
  CHECK(run.iterations[0].duration_ns == 100'000);
  CHECK(run.iterations[0].ranks == 4);
  // Each of the four operations runs for 4 us.
  CHECK(run.iterations[0].busy_ns == 16'000);
  CHECK(run.iterations[0].waited_ns == 0);
  CHECK(run.iterations[0].slowest.empty());
  // Three ranks waited 50 us each; on them the AllReduce ran for 54 us.
  CHECK(run.iterations[7].duration_ns == 150'000);
  CHECK(run.iterations[7].waited_ns == 150'000);
  CHECK(run.iterations[7].slowest == "rank 3");
  CHECK(run.iterations[7].delay_ns == 50'000);
  CHECK(run.iterations[7].busy_ns == 66'000);
  // Nothing was called after the last one.
  CHECK_FALSE(run.iterations[19].duration_ns);
  CHECK(run.duration->median_ns == 100'000);
  CHECK(run.duration->max_ns == 150'000);
}

TEST_CASE("a short iteration with something more every tenth time is no loop of a long one") {
  const bool has_layers = GENERATE(false, true);
  const int before = GENERATE(0, 10);  // calls that no iteration has, as of parameters
  Job job(2);
  for (int i = 0; i < before; ++i) {
    job.call("Broadcast", static_cast<std::uint64_t>(1000 + i));
  }
  for (int i = 0; i < 200; ++i) {
    // The other way round, ten layers are one iteration: only the first comes after a pause.
    if (!has_layers || i % 10 == 0) {
      job.pause();
    }
    job.call("AllGather", 1000);
    job.call("AllReduce", 5000);
    job.call("ReduceScatter", 1000);
    if (i % 10 == 9) {
      job.call("AllReduce", 8);
      job.call("AllGather", 77);
      job.call("AllReduce", 9);
    }
  }
  const auto runs = job.find();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].period.size() == (has_layers ? 33 : 3));
  CHECK(runs[0].iterations.size() == (has_layers ? 20 : 200));
}

TEST_CASE("what comes between iterations is not in their time, what comes in one is counted") {
  Job job(2);
  for (int i = 0; i < 30; ++i) {
    job.iterate();
    if (i == 9 || i == 22) {
      job.call("AllReduce", 8);
      job.call("AllGather", 77);
    }
  }
  job.call("AllGather", 1000);  // cut off in the second call of the next one
  job.call("AllReduce", 5000);
  const auto runs = job.find();
  REQUIRE(runs.size() == 1);
  REQUIRE(runs[0].iterations.size() == 30);
  CHECK(runs[0].between == 4);
  CHECK(runs[0].after == 2);
  CHECK(runs[0].iterations[9].duration_ns == 40'000);  // up to the extra call
  CHECK(runs[0].iterations[10].duration_ns == 100'000);
  CHECK(runs[0].iterations[29].duration_ns == 40'000);

  Job inside(2);
  for (int i = 0; i < 30; ++i) {
    inside.iterate();
    if (i == 13) {
      inside.call("AllGather", 1000);
      inside.call("Broadcast", 9);
      inside.call("AllReduce", 5000);
      inside.call("AllReduce", 5000);
      inside.call("ReduceScatter", 1000);
    }
  }
  const auto found = inside.find();
  REQUIRE(found[0].iterations.size() == 31);
  CHECK(found[0].iterations[14].operations == 5);
  CHECK(found[0].iterations[15].operations == 4);
}

TEST_CASE("where nothing repeats, that is said, and of noise no iterations are made") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Job job(2);
    const std::uint64_t calls = 20 + random() % 200;
    for (std::uint64_t i = 0; i < calls; ++i) {
      job.call(random() % 2 == 0 ? "AllReduce" : "AllGather", 8U << random() % 6);
    }
    const auto runs = job.find();
    INFO("seed " << seed);
    REQUIRE(runs.size() == 1);
    REQUIRE(runs[0].iterations.empty());
    REQUIRE(runs[0].operations == calls);
  }
}

TEST_CASE("sizes that follow the data are left out, if nothing repeats with them") {
  std::mt19937_64 random(1);
  Job job(2);
  for (int i = 0; i < 30; ++i) {
    job.call("AllGather", 1 + random() % 100'000);
    job.call("AllReduce", 1 + random() % 100'000);
    job.call("ReduceScatter", 1 + random() % 100'000);
  }
  const auto runs = job.find();
  CHECK_FALSE(runs[0].scope.with_sizes);
  CHECK(runs[0].iterations.size() == 30);
}

TEST_CASE("a root that goes around makes no iteration longer") {
  Job job(4);
  SECTION("as often as there are ranks") {
    for (std::uint32_t i = 0; i < 40; ++i) {
      job.pause();
      job.call("AllGather", 1000);
      job.call("AllReduce", 5000);
      job.call_from(i % 4);
    }
  }
  SECTION("at random, so that nothing repeats with it") {
    std::mt19937 random(1);
    for (std::uint32_t i = 0; i < 40; ++i) {
      job.pause();
      job.call("AllReduce", 5000);
      job.call_from(static_cast<std::uint32_t>(random() % 4));
      job.call_from(static_cast<std::uint32_t>(random() % 4));
    }
  }
  const auto found = job.find();
  REQUIRE(found.size() == 1);
  CHECK(found[0].period.size() == 3);
  CHECK(found[0].iterations.size() == 40);
  CHECK_FALSE(found[0].scope.with_roots);
}

TEST_CASE("a loop over the roots is one iteration") {
  Job job(4);
  for (std::uint32_t i = 0; i < 20; ++i) {
    job.pause();
    for (std::uint32_t root = 0; root < 4; ++root) {
      job.call("AllGather", 1000);
      job.call_from(root);
    }
  }
  const auto found = job.find();
  REQUIRE(found.size() == 1);
  CHECK(found[0].period.size() == 8);
  CHECK(found[0].scope.with_roots);
}

TEST_CASE("a period can be asked for") {
  Job job(2);
  for (int i = 0; i < 20; ++i) {
    job.iterate();
  }
  CHECK(job.find(8)[0].iterations.size() == 10);
  CHECK(job.find(7)[0].iterations.empty());
}

TEST_CASE("absurd times give no absurd iterations") {
  Job job(2);
  for (int i = 0; i < 20; ++i) {
    job.iterate();
  }
  auto& operations = job.traces().files[0].operations;
  operations[10].start_ns = std::numeric_limits<std::int64_t>::min();
  operations[11].end_ns = std::numeric_limits<std::int64_t>::max();
  operations[30].enqueue_start_ns = std::numeric_limits<std::int64_t>::max();
  operations[31].enqueue_start_ns = std::numeric_limits<std::int64_t>::min();
  operations[50].enqueue_start_ns.reset();
  operations[50].start_ns.reset();
  const auto runs = job.find();
  REQUIRE(runs.size() == 1);
  // Two were called at other times, and one has none: the iterations of these are not whole.
  CHECK(runs[0].iterations.size() >= 17);
  CHECK(runs[0].duration->median_ns == 100'000);
}
