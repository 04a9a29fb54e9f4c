// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/matcher.h"

#include <utility>

#include "analyzer/match/untrusted/untrusted.h"
#include "analyzer/match/verdict/verdict.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

TEST_CASE("collectives match by function and sequence number, in whatever order they are written") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", rank == 0 ? 0 : 1);
    builder.add("AllReduce", rank == 0 ? 1 : 0);
    builder.add("AllGather", 0);
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 1);
  REQUIRE(matches.operations.size() == 3);
  for (const MatchedOperation& operation : matches.operations) {
    CHECK(operation.part_count == 2);
    CHECK(ranks_expected(matches, operation) == 2);
  }
}

TEST_CASE("members are alike if all of their calls are, and none is in flight") {
  const auto are_alike = [](void (*change)(model::Operation&)) {
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      builder.add_file(rank);
      builder.add("AllReduce", 0);
      builder.add("AllReduce", 1);
    }
    change(builder.operations(1)[1]);
    return match_operations(builder.traces()).communicators.front().is_alike;
  };
  CHECK(are_alike([](model::Operation& /*same*/) {}));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.seq = 2; }));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.bytes = 77; }));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.count = 77; }));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.root = 1; }));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.datatype = one.func; }));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.surplus = 1; }));
  CHECK_FALSE(are_alike([](model::Operation& one) { one.in_flight = true; }));
}

TEST_CASE("repeated sequence numbers match in the order of the calls") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0, 100);
    builder.add("AllReduce", 0, 200);
  }
  // Lines of a trace are in no order of time.
  auto& operations = builder.operations(1);
  std::swap(operations[0], operations[1]);
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 2);
  CHECK(matches.operations[1].occurrence == 1);
  for (const MatchedOperation& matched : matches.operations) {
    const auto& first = operation_of(builder.traces(), matches.parts[matched.first_part]);
    const auto& second = operation_of(builder.traces(), matches.parts[matched.first_part + 1]);
    CHECK(*first.end_ns - *first.start_ns == *second.end_ns - *second.start_ns);
  }
}

TEST_CASE("operations without a sequence number match by order") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("Broadcast", std::nullopt);
    builder.add("Broadcast", std::nullopt);
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 2);
  CHECK(matches.operations[1].way == Way::kOrder);
  CHECK(matches.operations[1].number == 1);
  CHECK(matches.operations[1].part_count == 2);
}

TEST_CASE("sends and receives pair by source, destination and order") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add_transfer("Send", 1).bytes = 10;
  builder.add_transfer("Send", 1).bytes = 20;
  builder.add_transfer("Recv", 0);
  builder.add_transfer("Send", 0);
  builder.add_file(1);
  builder.add_transfer("Recv", 0).bytes = 10;
  builder.add_transfer("Recv", 0).bytes = 20;
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 3);
  CHECK(is_to_self(matches.operations[0]));
  CHECK(ranks_expected(matches, matches.operations[0]) == 1);
  for (const MatchedOperation& pair : matches.operations) {
    REQUIRE(pair.part_count == 2);
    const auto& send = operation_of(builder.traces(), matches.parts[pair.first_part]);
    const auto& receive = operation_of(builder.traces(), matches.parts[pair.first_part + 1]);
    CHECK(builder.traces().names.text(send.func) == "Send");
    CHECK(builder.traces().names.text(receive.func) == "Recv");
    CHECK(send.bytes == receive.bytes);
  }
}

TEST_CASE("a rank that began to record later does not shift the pairs") {
  TraceBuilder builder;
  builder.add_file(0);
  for (int i = 0; i < 100; ++i) {
    builder.add_transfer("Send", 1).tid = static_cast<std::uint32_t>(i);
  }
  // As many calls, but the first is not recorded, and the other's last one.
  builder.add_file(1).windows[1].start_ns = 77;
  for (int i = 1; i < 101; ++i) {
    builder.add_transfer("Recv", 0).tid = static_cast<std::uint32_t>(i);
  }
  builder.traces().files[0].process.dump = true;
  const Matches matches = match_operations(builder.traces());
  for (const MatchedOperation& operation : matches.operations) {
    CHECK(operation.part_count == 1);
    CHECK(judge(builder.traces(), matches, operation).verdict != Verdict::kMatched);
  }
  CHECK(matches.communicators[0].unaligned_calls == 100);
  CHECK(matches.communicators[0].notes.size() == 1);
}

TEST_CASE("pairs that cannot be counted from the start are counted from the end") {
  TraceBuilder builder;
  builder.add_file(0);
  for (int i = 0; i < 100; ++i) {
    model::Operation& send = builder.add_transfer("Send", 1);
    send.tid = static_cast<std::uint32_t>(i);
    send.window = 1;
  }
  builder.add_file(1).windows[1].start_ns = 77;
  for (int i = 40; i < 100; ++i) {
    model::Operation& receive = builder.add_transfer("Recv", 0);
    receive.tid = static_cast<std::uint32_t>(i);
    receive.window = 1;
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 100);
  for (const MatchedOperation& operation : matches.operations) {
    CHECK(operation.part_count == (operation.number < 40 ? 1 : 2));
    for (const Part& part : parts_of(matches, operation)) {
      CHECK(operation_of(builder.traces(), part).tid == operation.number);
    }
    CHECK(operation.is_aligned);
  }
}

TEST_CASE("a pair needs to know the rank and the peer") {
  TraceBuilder builder;
  const bool has_rank = GENERATE(true, false);
  builder.add_file(0).contexts[1].rank = has_rank ? std::optional(0U) : std::nullopt;
  builder.add_transfer("Send", 1);
  builder.add_transfer("Recv", 1).peer.reset();
  const Matches matches = match_operations(builder.traces());
  CHECK(matches.unpaired == (has_rank ? 1U : 2U));
  CHECK(matches.operations.size() == (has_rank ? 1U : 0U));
}

TEST_CASE("communicators without a hash are those of the same place in the order of creation") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank, std::nullopt, std::nullopt);
    builder.add("AllReduce", 0);
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 1);
  CHECK(matches.communicators[0].identity == Identity::kOrder);
  CHECK(matches.communicators[0].nranks == 2);
  CHECK(matches.communicators[0].nranks_inferred);
}

TEST_CASE("an order of creation that contradicts itself matches nothing") {
  TraceBuilder builder;
  for (const std::uint32_t rank : {0U, 1U, 0U, 1U}) {
    builder.add_file(rank, std::nullopt, std::nullopt);
    builder.add("AllReduce", 0);
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 4);
  CHECK(matches.communicators[0].identity == Identity::kAlone);
  CHECK(matches.operations.size() == 4);
}

TEST_CASE("context 0 is of no communicator, and takes no place in the order of creation") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank, std::nullopt, std::nullopt);
    builder.add("AllReduce", 0);
    if (rank == 1) {
      builder.add("AllReduce", 0).context = 0;
      file.contexts[0].operations = 1;
    }
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 2);
  CHECK(matches.operations.size() == 2);
  // Nothing says when context 0 was created: it comes with its process.
  CHECK(matches.communicators[0].identity == Identity::kAlone);
  CHECK(matches.communicators[1].members.size() == 2);
}

TEST_CASE("a rank that comes again is the next run of the job") {
  TraceBuilder builder;
  for (const std::uint32_t rank : {0U, 1U, 0U, 1U}) {
    builder.add_file(rank).contexts[1].created_ns = builder.traces().files.size();
    builder.add("AllReduce", 0);
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.communicators.size() == 2);
  CHECK(matches.communicators[1].instance == 1);
  CHECK(matches.operations.size() == 2);
}

TEST_CASE("ranks without a trace are known where the number of ranks is") {
  TraceBuilder builder;
  builder.add_file(1, "0x1", 4);
  builder.add("AllReduce", 0);
  const Matches matches = match_operations(builder.traces());
  CHECK(ranks_without_trace(matches.communicators[0]) == std::vector<std::uint32_t>{0, 2, 3});
}

// Two ranks, of which the second is recorded from its fourth AllReduce on only. NCCL 2.25 counts
// from there, and so does its rank 1.
TraceBuilder recorded_late(const std::string& nccl_version, bool is_alike) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank);
    file.process.nccl_version = nccl_version;
    file.process.abi = 2;
    file.process.boot_id = "b00t";
    const std::uint64_t late = rank == 0 ? 0 : 3;
    file.windows[1].start_ns = late == 0 ? 0 : 10'000'000;
    for (std::uint64_t i = late; i < 30; ++i) {
      model::Operation& operation = builder.add("AllReduce", i - late);
      operation.bytes = is_alike ? 8 : 1000 + (i * i * 7919) % 1009;
      operation.enqueue_start_ns = static_cast<std::int64_t>(i) * 2'000'000;
      operation.times_from = is_alike ? model::TimesFrom::kEnqueue : model::TimesFrom::kGpu;
      operation.start_ns = operation.enqueue_start_ns;
      operation.end_ns = *operation.start_ns + 500'000;
      operation.window = 1;
    }
  }
  return builder;
}

TEST_CASE("numbers that count only while recording are aligned, newer ones are trusted") {
  TraceBuilder builder = recorded_late("2.25.1", false);
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 30);
  CHECK(matches.communicators[0].notes.size() == 1);
  CHECK(matches.communicators[0].unaligned_calls == 0);
  for (const MatchedOperation& operation : matches.operations) {
    CHECK(operation.way == Way::kAligned);
    CHECK(operation.part_count == (operation.number < 3 ? 1U : 2U));
    const auto parts = parts_of(matches, operation);
    CHECK(operation_of(builder.traces(), parts.front()).bytes ==
          operation_of(builder.traces(), parts[parts.size() - 1]).bytes);
  }
  TraceBuilder newer = recorded_late("2.26.2", false);
  CHECK(match_operations(newer.traces()).operations.front().way == Way::kSequence);
}

TEST_CASE("what cannot be aligned for certain is in no operation, and the others' are undecided") {
  TraceBuilder builder = recorded_late("2.25.1", true);
  CHECK(match_operations(builder.traces()).communicators[0].unaligned_calls == 0);  // by their end
  builder.traces().files[1].closed = false;
  const Matches matches = match_operations(builder.traces());
  CHECK(matches.operations.size() == 30);
  CHECK(matches.communicators[0].unaligned_calls == 27);
  CHECK(matches.communicators[0].unaligned_members == std::vector<std::uint32_t>{1});
  CHECK(matches.parts.size() == 30);
}

TEST_CASE("replays that one rank saw begin and another did not are aligned by time") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank);
    file.process.nccl_version = "2.29.7";
    file.process.boot_id = "b00t";
    file.windows[1].start_ns = rank == 0 ? 0 : 10;
    for (std::int64_t i = rank == 0 ? 0 : 5; i < 20; ++i) {
      model::Operation& operation = builder.add("AllReduce", static_cast<std::uint64_t>(i % 2));
      operation.graph = true;
      operation.enqueue_start_ns = i * 5'000'000;
      operation.start_ns = i * 5'000'000;
      operation.end_ns = *operation.start_ns + 1'000'000;
      operation.window = 1;
    }
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 20);
  for (const MatchedOperation& operation : matches.operations) {
    CHECK(operation.part_count == (operation.number < 5 ? 1U : 2U));
  }
}

TEST_CASE("NCCL releases up to 2.25 count only while recording") {
  const auto counts = [](const std::string& version, std::int64_t abi) {
    model::Process process;
    process.nccl_version = version;
    process.abi = abi;
    return counts_only_while_recording(process);
  };
  CHECK(counts("2.25.1", 2));
  CHECK_FALSE(counts("2.26.2", 2));
  CHECK_FALSE(counts("3.0", 2));
  CHECK(counts("", 1));
  CHECK(counts("x", 2));
  CHECK_FALSE(counts("", 3));
  CHECK_FALSE(counts("", 0));
}

TEST_CASE("sampled sends and receives pair by their places, also with a rank that has all") {
  TraceBuilder builder;
  builder.add_file(0).process.sampling.p2p_of = 4;
  for (const std::uint64_t place : {1U, 7U, 11U}) {
    builder.add_transfer("Send", 1).seq = place;
  }
  builder.add_file(1);
  for (int place = 0; place < 12; ++place) {
    builder.add_transfer("Recv", 0);
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 12);
  for (const MatchedOperation& operation : matches.operations) {
    const bool is_kept = operation.number == 1 || operation.number == 7 || operation.number == 11;
    CHECK(operation.part_count == (is_kept ? 2 : 1));
  }
}

TEST_CASE("places that cannot be right are not believed") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank).process.sampling.p2p_of = 4;
    builder.add_transfer(rank == 0 ? "Send" : "Recv", 1 - rank).seq = 5;
    builder.add_transfer(rank == 0 ? "Send" : "Recv", 1 - rank).seq = 5;
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 2);
  CHECK(matches.operations[0].part_count == 2);
  CHECK(matches.operations[1].part_count == 2);
}

TEST_CASE("in sampled traces what a rank lacks is not recorded, never missing") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank).process.sampling.coll_of = 16;
    builder.add("AllReduce", 8).sample_of = 16;
  }
  builder.add("AllReduce", 23).sample_of = 16;
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 2);
  CHECK(judge(builder.traces(), matches, matches.operations[0]).verdict == Verdict::kMatched);
  CHECK(judge(builder.traces(), matches, matches.operations[1]).verdict == Verdict::kNotRecorded);
}

}  // namespace
}  // namespace ringside::match
