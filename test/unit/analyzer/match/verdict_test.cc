// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/verdict.h"

#include <limits>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

// Two ranks; rank 1 does not do the second AllReduce.
TraceBuilder one_is_absent() {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0);
    if (rank == 0) {
      builder.add("AllReduce", 1);
    }
  }
  return builder;
}

Verdict last_verdict(TraceBuilder& builder) {
  const Matches matches = match_operations(builder.traces());
  return judge(builder.traces(), matches, matches.operations.back()).verdict;
}

TEST_CASE("what a complete trace does not have was not called") {
  TraceBuilder builder = one_is_absent();
  CHECK(last_verdict(builder) == Verdict::kMissing);
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches);
  CHECK(describe(builder.traces(), matches, judgements, matches.operations.size() - 1) ==
        "AllReduce, one of #0 to #1: rank 1 did not call it (which is not known: these calls are "
        "alike)");
}

TEST_CASE("a verdict is not stronger than the data") {
  TraceBuilder builder = one_is_absent();
  model::TraceFile& file = builder.traces().files[1];
  SECTION("callbacks were dropped") {
    file.account.dropped["Coll dropped_ring_full"] = 1;
  }
  SECTION("the file is not closed") {
    file.closed = false;
  }
  SECTION("the file is a dump") {
    file.process.dump = true;
  }
  SECTION("a line could not be read") {
    file.bad_lines = 1;
  }
  SECTION("the last line counts more operations") {
    file.operations_written = 2;
  }
  SECTION("recording began late") {
    file.windows[1].start_ns = 2;
  }
  SECTION("recording was stopped") {
    file.windows[1].end_ns = 5;
  }
  SECTION("there are two windows") {
    file.windows[2] = {};
  }
  SECTION("it is sampled") {
    file.account.sampled_out = 1;
  }
  CHECK(last_verdict(builder) == Verdict::kNotRecorded);
}

TEST_CASE("a damaged record is no side of a mismatch, and tells of no rank that left it out") {
  TraceBuilder builder = one_is_absent();
  builder.operations(0)[1].id = 7;
  builder.traces().files[0].doubtful = {7};
  CHECK(last_verdict(builder) == Verdict::kUndecided);

  TraceBuilder of_three;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    of_three.add_file(rank);
    model::Operation& operation = of_three.add("AllReduce", 0);
    operation.id = 7;
    operation.bytes = rank == 0 ? 10 : 20;
  }
  of_three.traces().files[0].doubtful = {7};
  CHECK(last_verdict(of_three) == Verdict::kUndecided);
  of_three.operations(1)[0].bytes = 10;  // two sound records disagree
  CHECK(last_verdict(of_three) == Verdict::kSizeMismatch);
}

TEST_CASE("a window that outlasts the communicator loses nothing") {
  TraceBuilder builder = one_is_absent();
  builder.traces().files[1].windows[1].end_ns = 500;
  builder.traces().files[1].contexts[1].finalized_ns = 400;
  CHECK(last_verdict(builder) == Verdict::kMissing);
}

TEST_CASE("a rank without a trace is not recorded") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllReduce", 0);
  CHECK(last_verdict(builder) == Verdict::kNotRecorded);
}

TEST_CASE("ranks that disagree have a verdict by what they disagree in") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllReduce", 0);
  builder.add_file(1);
  builder.add("AllReduce", 0);
  const model::NameId int8 = builder.traces().names.id("ncclInt8");
  const model::NameId float32 = builder.traces().names.id("ncclFloat32");
  model::Operation& other = builder.operations(1)[0];
  Verdict expected = Verdict::kMatched;
  SECTION("in bytes") {
    other.bytes = 1;
    expected = Verdict::kSizeMismatch;
  }
  SECTION("in the count") {
    other.count = 1;
    expected = Verdict::kSizeMismatch;
  }
  SECTION("in the datatype") {
    other.datatype = int8;
    expected = Verdict::kDatatypeMismatch;
  }
  SECTION("in the datatype, and so in bytes") {
    other.datatype = float32;
    other.bytes = 4000;
    expected = Verdict::kDatatypeMismatch;
  }
  SECTION("in the root") {
    other.root = 1;
    builder.operations(0)[0].root = 0;
    expected = Verdict::kRootMismatch;
  }
  CHECK(last_verdict(builder) == expected);
}

// A clock of two files: the second one is `ahead_ns` ahead of the first.
CommonClock clock_with(std::int64_t ahead_ns, std::int64_t uncertainty_ns) {
  return {[ahead_ns](std::uint32_t file, std::int64_t time_ns) {
            return time_ns - (file == 1 ? ahead_ns : 0);
          },
          [uncertainty_ns](std::uint32_t, std::uint32_t) { return uncertainty_ns; }};
}

// Rank 0 finishes at 2000, the trace of rank 1 says that it was in flight until `last_ns`.
TraceBuilder half_finished(std::int64_t last_ns) {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllReduce", 0);
  model::TraceFile& file = builder.add_file(1);
  file.process.dump = true;
  file.last_ns = last_ns;
  model::Operation& other = builder.add("AllReduce", 0);
  other.in_flight = true;
  other.state = model::State::kStarted;
  other.end_ns.reset();
  return builder;
}

Verdict state_verdict(TraceBuilder builder, const CommonClock& clock) {
  const Matches matches = match_operations(builder.traces());
  return judge_all(builder.traces(), matches, clock).front().verdict;
}

TEST_CASE(
    "finished here and in flight there is a state mismatch where the trace goes on after that") {
  const CommonClock exact = clock_with(0, 0);
  CHECK(state_verdict(half_finished(5000), exact) == Verdict::kStateMismatch);
  CHECK(state_verdict(half_finished(1500), exact) == Verdict::kMatched);
  TraceBuilder closed = half_finished(5000);
  closed.traces().files[1].process.dump = false;
  CHECK(state_verdict(std::move(closed), exact) == Verdict::kMatched);
}

TEST_CASE("a state mismatch is told by the common clock, and beyond its uncertainty") {
  CHECK(state_verdict(half_finished(5000), clock_with(0, 2999)) == Verdict::kStateMismatch);
  CHECK(state_verdict(half_finished(5000), clock_with(0, 3000)) == Verdict::kMatched);
  // Time 5000 of rank 1 is 1000 on the common clock.
  CHECK(state_verdict(half_finished(5000), clock_with(4000, 0)) == Verdict::kMatched);
  CHECK(
      state_verdict(half_finished(5000), clock_with(0, std::numeric_limits<std::int64_t>::max())) ==
      Verdict::kMatched);
}

TEST_CASE("what a later operation has overtaken is not in flight") {
  TraceBuilder builder = half_finished(5000);
  builder.add("AllGather", 0);
  Verdict expected = Verdict::kMatched;
  SECTION("a later call") {}
  SECTION("one of the same group, which runs with it") {
    builder.operations(1)[0].group = builder.operations(1)[1].group = 7;
    expected = Verdict::kStateMismatch;
  }
  SECTION("an earlier call") {
    builder.operations(1)[1].enqueue_start_ns = 1;
    expected = Verdict::kStateMismatch;
  }
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches, clock_with(0, 0));
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (builder.traces().names.text(matches.operations[i].func) == "AllReduce") {
      CHECK(judgements[i].verdict == expected);
    }
  }
}

TEST_CASE("the smaller side is the minority, and a tie says so") {
  const bool is_tie = GENERATE(true, false);
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < (is_tie ? 4 : 5); ++rank) {
    builder.add_file(rank, "0x1", is_tie ? 4 : 5);
    builder.add("AllReduce", 0).bytes = rank == 1 || rank == 2 ? 7 : 8;
  }
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches);
  CHECK(describe(builder.traces(), matches, judgements, 0) ==
        (is_tie ? "AllReduce #0: bytes 8 on ranks 0, 3, 7 on ranks 1, 2 (a tie)"
                : "AllReduce #0: bytes 7 on ranks 1, 2 (the minority), 8 on ranks 0, 3, 4"));
}

TEST_CASE("lists of ranks name ranges") {
  CHECK(rank_list({3}) == "rank 3");
  CHECK(rank_list({0, 1, 3, 4, 5, 6}) == "ranks 0, 1, 3-6");
  CHECK(rank_list({0, 2, 4, 6, 8, 10, 12, 14, 16, 18}) ==
        "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 more");
}

TEST_CASE("once places no longer agree, no mismatch is claimed") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0);
    std::uint64_t gathers = 0;
    if (rank == 0) {
      builder.add("AllGather", gathers++).bytes = 1;
    }
    builder.add("AllReduce", 1);
    builder.add("AllGather", gathers++).bytes = 2;
    builder.add("AllReduce", 2);
  }
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches);
  // Rank 1 left out the first AllGather, so its numbers lag behind.
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    CHECK_FALSE(judgements[i].verdict == Verdict::kSizeMismatch);
  }
}

TEST_CASE("different functions at the same place of complete traces differ") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0);
    if (rank == 0) {
      builder.add("AllReduce", 1);
    } else {
      builder.add("AllGather", 0);
    }
  }
  const bool at_same_place = GENERATE(true, false);
  if (!at_same_place) {
    builder.add("AllReduce", 1).enqueue_start_ns = 0;
  }
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches);
  REQUIRE(matches.operations.size() == 3);
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const bool is_first = builder.traces().names.text(matches.operations[i].func) == "AllReduce" &&
                          matches.operations[i].number == 0;
    if (at_same_place && !is_first) {
      CHECK(judgements[i].verdict == Verdict::kFunctionMismatch);
    } else {
      CHECK_FALSE(disagrees(judgements[i]));
    }
  }
}

TEST_CASE("what different interfaces call count and datatype does not differ") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllGather", 0);
  builder.add_file(1).process.abi = 4;
  model::Operation& other = builder.add("AllGather", 0);
  other.count = 250;
  other.datatype = builder.traces().names.id("ncclFloat32");
  CHECK(last_verdict(builder) == Verdict::kMatched);
}

TEST_CASE("matched by order, a difference is doubtful once records may be lost") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add_transfer("Send", 1).bytes = 10;
  builder.add_file(1);
  builder.add_transfer("Recv", 0).bytes = 20;
  CHECK(last_verdict(builder) == Verdict::kSizeMismatch);
  builder.traces().files[0].closed = false;
  CHECK(last_verdict(builder) == Verdict::kUndecided);
}

}  // namespace
}  // namespace ringside::match
