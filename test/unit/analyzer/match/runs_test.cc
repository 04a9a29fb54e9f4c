// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/runs.h"

#include "analyzer/match/matcher.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

// A process that lives from `start_s` for ten seconds.
model::TraceFile& add_process(TraceBuilder& builder, std::uint32_t rank, std::int64_t start_s,
                              std::int64_t lives_s = 10) {
  model::TraceFile& file = builder.add_file(rank);
  builder.add("AllReduce", 0);
  file.process.launcher_rank = rank;
  file.process.start_ns = start_s * kSecond_ns;
  file.last_ns = (start_s + lives_s) * kSecond_ns;
  file.contexts[1].created_ns = file.process.start_ns + 1;
  return file;
}

TEST_CASE("a restart is another run, and nothing matches across runs") {
  TraceBuilder builder;
  // The new ranks come in another order, and there is one more, which starts first.
  add_process(builder, 0, 0);
  add_process(builder, 1, 1);
  add_process(builder, 2, 60);
  add_process(builder, 1, 61);
  add_process(builder, 0, 62);
  const Runs runs = find_runs(builder.traces());
  CHECK(runs.of_file == std::vector<std::uint32_t>{0, 0, 1, 1, 1});
  CHECK(runs.runs.at(1).start_ns == 60 * kSecond_ns);
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 2);
  CHECK(matches.communicators[0].members.size() == 2);
  CHECK(matches.communicators[1].members.size() == 3);
  CHECK(matches.communicators[1].run == 1);
}

TEST_CASE("containers with the same host and pid at one time are one run") {
  TraceBuilder builder;
  for (const std::uint32_t rank : {0U, 1U}) {
    model::TraceFile& file = add_process(builder, rank, rank);
    file.process.launcher_rank.reset();
    file.process.pid = 1;
  }
  CHECK(find_runs(builder.traces()).runs.size() == 1);
  builder.traces().files[1].process.start_ns = 100 * kSecond_ns;
  CHECK(find_runs(builder.traces()).runs.size() == 2);
}

// Two runs of two ranks, each on a host of its own. The second host's clock is `ahead_s` ahead.
TraceBuilder two_runs(std::int64_t ahead_s) {
  TraceBuilder builder;
  for (const std::int64_t start_s : {100, 112}) {
    for (const std::uint32_t rank : {0U, 1U}) {
      model::TraceFile& file = add_process(builder, rank, start_s + (rank == 1 ? ahead_s : 0));
      file.process.host = file.process.boot_id = "host" + std::to_string(rank);
    }
  }
  return builder;
}

TEST_CASE("two runs stay two, however far the clocks of their hosts are apart") {
  const std::int64_t ahead_s = GENERATE(-30, -11, -1, 0, 1, 11, 13, 30, 90);
  TraceBuilder builder = two_runs(ahead_s);
  INFO(ahead_s);
  const Runs runs = find_runs(builder.traces());
  REQUIRE(runs.runs.size() == 2);
  CHECK(runs.of_file == std::vector<std::uint32_t>{0, 0, 1, 1});
}

TEST_CASE("a host that was only in the second run and one that was only in the first two") {
  // Hashes tell that the second run of one host is the first of the other.
  TraceBuilder builder;
  for (const std::uint32_t rank : {0U, 1U}) {
    for (const std::uint32_t life : {0U, 1U}) {
      model::TraceFile& file = add_process(builder, rank, 20 * std::int64_t{rank + life});
      file.process.host = file.process.boot_id = "host" + std::to_string(rank);
      file.contexts[1].comm = "0x" + std::to_string(rank + life);
    }
  }
  const Runs runs = find_runs(builder.traces());
  CHECK(runs.runs.size() == 3);
  CHECK(runs.of_file[1] == runs.of_file[2]);
}

TEST_CASE("communicators without a hash are of one run, also where no launcher gave ranks") {
  TraceBuilder builder;
  for (const std::int64_t start_s : {0, 60}) {
    for (const std::uint32_t rank : {0U, 1U}) {
      model::TraceFile& file = add_process(builder, rank, start_s);
      file.process.launcher_rank.reset();
      file.process.pid = static_cast<std::int64_t>(1000 + 10 * start_s + rank);
      file.contexts[1].comm.reset();
    }
  }
  const Matches matches = match_operations(builder.traces());
  CHECK(matches.runs.runs.size() == 2);
  REQUIRE(matches.communicators.size() == 2);
  for (const Communicator& communicator : matches.communicators) {
    CHECK(communicator.identity == Identity::kOrder);
    CHECK(communicator.members.size() == 2);
  }
  CHECK(matches.operations.size() == 2);
}

TEST_CASE("jobs are runs of their own") {
  TraceBuilder builder;
  add_process(builder, 0, 0).process.job = "b";
  add_process(builder, 1, 0).process.job = "a";
  const Runs runs = find_runs(builder.traces());
  REQUIRE(runs.runs.size() == 2);
  CHECK(runs.runs[0].job == "a");
  CHECK(runs.of_file == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("a communicator of one that lived on and one that was restarted is one communicator") {
  TraceBuilder builder;
  add_process(builder, 0, 0, 100).contexts[1].created_ns = 50 * kSecond_ns;
  add_process(builder, 1, 0).contexts[1].comm = "0x2";
  add_process(builder, 1, 49);
  CHECK(find_runs(builder.traces()).runs.size() == 2);
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 2);
  CHECK(matches.communicators[1].hash == "0x1");
  CHECK(matches.communicators[1].members.size() == 2);
}

}  // namespace
}  // namespace ringside::match
