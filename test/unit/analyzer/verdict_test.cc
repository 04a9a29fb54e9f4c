// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict.h"

#include "analyzer/match/function_mismatch.h"
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
  const Judgement judgement = judge(builder.traces(), matches, matches.operations.back());
  CHECK(describe(builder.traces(), matches, matches.operations.back(), judgement) ==
        "AllReduce seq 1: missing on rank 1");
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

TEST_CASE("ranks that disagree differ") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllReduce", 0);
  builder.add_file(1);
  model::Operation& other = builder.add("AllReduce", 0);
  SECTION("in bytes") {
    other.bytes = 1;
  }
  SECTION("in the count") {
    other.count = 1;
  }
  SECTION("in the datatype") {
    other.datatype = builder.traces().names.id("ncclInt8");
  }
  SECTION("in the root") {
    other.root = 1;
    builder.traces().files[0].operations[0].root = 0;
  }
  CHECK(last_verdict(builder) == Verdict::kDiffers);
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
  std::vector<Judgement> judgements;
  for (const MatchedOperation& operation : matches.operations) {
    judgements.push_back(judge(builder.traces(), matches, operation));
  }
  find_function_mismatches(builder.traces(), matches, judgements);
  REQUIRE(matches.operations.size() == 3);
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const bool is_first = builder.traces().names.text(matches.operations[i].func) == "AllReduce" &&
                          matches.operations[i].number == 0;
    if (at_same_place && !is_first) {
      CHECK(judgements[i].differs == "function");
      CHECK(judgements[i].verdict == Verdict::kDiffers);
    } else {
      CHECK(judgements[i].differs.empty());
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
  CHECK(last_verdict(builder) == Verdict::kDiffers);
  builder.traces().files[0].closed = false;
  CHECK(last_verdict(builder) == Verdict::kUndecided);
}

}  // namespace
}  // namespace ringside::match
