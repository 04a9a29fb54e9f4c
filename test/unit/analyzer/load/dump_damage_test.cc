// SPDX-License-Identifier: Apache-2.0
//
// Entries of Flight Recorder dumps that contradict each other.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/analyzer/load/dump_text.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

TEST_CASE("an entry that is there twice leaves its operation in doubt") {
  const std::string first = entry_of(0, "nccl:all_reduce", 1, 0, kFloats);
  const std::string rest = entry_of(1, "nccl:all_reduce", 2, 0, kFloats) + ',' +
                           entry_of(2, "nccl:all_reduce", 3, 0, kFloats);
  const Dump dump = read(dump_of(first + ',' + first + ',' + rest));
  CHECK(problems_of(dump) ==
        std::vector<std::string>{"2: the entry has the record_id 0 of one before it; it is left "
                                 "out"});
  CHECK(dump.file.operations.size() == 3);
  CHECK(dump.file.bad_lines == 1);
  CHECK(dump.file.doubtful == std::vector<std::uint64_t>{0});
  CHECK(dump.file.operations[2].id == 2);
}

TEST_CASE("an entry with a copy of another one in its place is not recorded") {
  const auto read_with = [](const std::string& third) {
    return read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' +
                        entry_of(1, "nccl:all_reduce", 2, 0, kFloats) + ',' + third + ',' +
                        entry_of(3, "nccl:all_reduce", 4, 0, kFloats)));
  };
  const std::string second = entry_of(1, "nccl:all_reduce", 2, 0, kFloats);
  std::string renumbered = second;  // its collective_seq_id tells it, as no other does
  renumbered.replace(renumbered.find(':') + 1, 1, "2");
  for (const std::string& third : {second, renumbered}) {
    const Dump dump = read_with(third);
    CHECK(
        problems_of(dump) ==
        std::vector<std::string>{"3: the entry is a copy of entry 2, and has the place of another "
                                 "call; it is left out"});
    REQUIRE(dump.file.operations.size() == 3);
    CHECK(dump.file.operations[1].id == 1);
    CHECK(dump.file.operations[2].seq == 4);
    CHECK(dump.file.doubtful.empty());
    CHECK(dump.file.bad_lines == 1);
  }
}

// Entry `place` of five has the call and time of entry `from`, and the numbers of its own place
// that are named.
Dump read_copied(int place, int from, const std::string& kept) {
  constexpr std::int64_t kBegin = 1795375163662698001;
  std::string entries;
  for (int i = 0; i < 5; ++i) {
    const auto value_of = [&](const std::string& key) {
      return i == place && kept.find(key) == std::string::npos ? from : i;
    };
    const int call = i == place ? from : i;
    std::string entry =
        entry_of(value_of("record"), call % 2 == 0 ? "nccl:all_reduce" : "nccl:reduce",
                 value_of("collective") + 1, 0,
                 R"("op_id":)" + std::to_string(value_of("op") + 1) + ',' + kFloats);
    const std::size_t at = entry.find(R"("time_created_ns":)") + 18;
    entry.replace(at, entry.find(',', at) - at, std::to_string(kBegin + 10 * call));
    entries += (i > 0 ? "," : "") + entry;
  }
  return read(dump_of(entries));
}

TEST_CASE("a copy is told from its original by its time and numbers, whichever it keeps") {
  for (const char* const kept :
       {"", "record", "record,op", "record,collective", "op,collective", "record,op,collective"}) {
    for (const auto& [place, from] :
         {std::pair(2, 3), std::pair(3, 2), std::pair(1, 4), std::pair(4, 1), std::pair(4, 0)}) {
      const Dump dump = read_copied(place, from, kept);
      CAPTURE(std::string(kept), place, from, problems_of(dump));
      const bool tells_nothing =  // and nobody makes two calls at the same nanosecond
          std::string(kept) == "record,op,collective" && std::abs(place - from) == 1;
      CHECK(dump.file.operations.size() == (tells_nothing ? 3 : 4));
      CHECK(dump.problems.bad_lines() == (tells_nothing ? 2 : 1));
      CHECK(dump.file.bad_lines == dump.problems.bad_lines());
      for (const model::Operation& operation : dump.file.operations) {
        CHECK(operation.id != static_cast<std::uint64_t>(place));
      }
    }
  }
}

TEST_CASE(
    "of two calls with one op_id, or a p2p_seq_id that is too great, the damaged one is told") {
  const auto read_with = [](int pairs, int operation) {
    std::string entries;
    for (int i = 0; i < 5; ++i) {
      entries +=
          (i > 0 ? "," : "") +
          entry_of(i, "nccl:all_reduce", i + 1, i == 2 ? pairs : 0,
                   R"("op_id":)" + std::to_string(i == 2 ? operation : i + 1) + ',' + kFloats);
    }
    return read(dump_of(entries));
  };
  CHECK(read_with(0, 3).problems.bad_lines() == 0);
  for (const Dump& dump : {read_with(0, 4), read_with(0, 9), read_with(0, 2), read_with(7, 3)}) {
    CHECK(dump.problems.bad_lines() == 1);
    CHECK(dump.problems.lines().front().line == 3);
    CHECK(dump.file.doubtful == std::vector<std::uint64_t>{2});
    CHECK(dump.file.bad_lines == 1);
  }
}

TEST_CASE("numbers and times that tell of entries that have changed places") {
  // Sends of one rank, whose collective_seq_id does not change.
  const auto send = [](int record, int number, int operation, int created, int completed) {
    std::string entry =
        entry_of(record, "nccl:send 1->0", 0, number,
                 R"("op_id":)" + std::to_string(operation) + R"(,"time_discovered_completed_ns":)" +
                     std::to_string(1795375163662698670 + completed) + ',' + kFloats);
    const std::string told = std::to_string(1795375163662698670 + record);
    return entry.replace(entry.find(told), told.size(),
                         std::to_string(1795375163662698670 + created));
  };
  const auto read_with = [&](const std::string& second) {
    return read(dump_of(send(0, 1, 1, 0, 10) + ',' + second + ',' + send(2, 3, 3, 20, 30)));
  };
  CHECK(read_with(send(1, 2, 2, 10, 15)).problems.bad_lines() == 0);
  // Calls between its entries that are not there.
  const std::string more =
      ',' + send(1, 2, 2, 10, 15) + ',' + send(2, 3, 3, 20, 30) + ',' + send(3, 5, 5, 40, 45);
  const Dump gap = read(dump_of(send(0, 1, 1, 0, 10) + more));
  CHECK(problems_of(gap) == std::vector<std::string>{"4: numbers of calls are missing in a group: "
                                                     "calls are not recorded"});
  CHECK(gap.file.bad_lines == 1);
  CHECK(gap.file.operations.size() == 4);
  // One of them may be damage of that number or time, or the entry is a copy.
  const std::string late = send(1, 2, 2, 25, 28);
  for (const std::string& second :
       {send(1, 4, 2, 10, 15), send(1, 2, 0, 10, 15), send(1, 2, 1, 10, 15), late}) {
    const Dump dump = read_with(second);
    INFO(second);
    CHECK(dump.problems.bad_lines() == 1);
    CHECK(dump.file.bad_lines == (second == late ? 0 : 1));
    CHECK(dump.file.operations.size() == 3);
  }
  for (const std::string& second :
       {send(1, 4, 4, 10, 15), send(1, 4, 2, 25, 28), send(1, 2, 2, 10, 9)}) {
    const Dump dump = read_with(second);
    INFO(second);
    CHECK(dump.file.bad_lines > 0);
    CHECK(dump.file.operations.empty());
  }
}

TEST_CASE("an entry behind the calls of a group has the state of all of them") {
  constexpr char kEnd[] = R"("input_sizes":[],"output_sizes":[],"state":"completed")";
  const Dump dump = read(dump_of(entry_of(0, "nccl:all_reduce", 9, 2, kFloats) + ',' +
                                 entry_of(1, "nccl:send 1->0", 9, 3, scheduled()) + ',' +
                                 entry_of(2, "nccl:recv 1<-0", 9, 3, scheduled()) + ',' +
                                 entry_of(3, "nccl:coalesced", 9, 3, kEnd) + ',' +
                                 entry_of(4, "nccl:coalesced", 10, 3, kEnd)));
  const model::Operations& operations = dump.file.operations;
  REQUIRE(operations.size() == 4);
  CHECK_FALSE(operations[0].group);
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(operations[i].state == model::State::kCompleted);
    CHECK_FALSE(operations[i].in_flight);
    CHECK(operations[i].group == 1U);
  }
  CHECK(dump.names.text(operations[3].func) == "coalesced");  // of calls that are not listed
  CHECK(operations[3].seq == 10);
  CHECK_FALSE(operations[3].bytes);
}

// As ProcessGroupNCCL lists them: both calls are of the first end alone.
TEST_CASE("an end behind the end of a group has no calls of its own") {
  constexpr char kEnd[] = R"("input_sizes":[],"output_sizes":[],"state":"scheduled")";
  const Dump dump = read(dump_of(entry_of(1, "nccl:send 1->0", 9, 3, scheduled()) + ',' +
                                 entry_of(2, "nccl:coalesced", 9, 3, kEnd) + ',' +
                                 entry_of(3, "nccl:coalesced", 9, 3, kEnd)));
  REQUIRE(dump.file.operations.size() == 1);
  CHECK(dump.file.operations[0].group == 1U);
}

// Calls that are made together, in the numbers of 2.15's ProcessGroupNCCL (legacy-2-clean): `end`
// of a send and a receive, and `bare` behind it, of collectives that are not listed.
struct Together {
  int collective;
  int op_id;
};

Dump read_together(const Together& end, const Together& bare) {
  constexpr char kEnd[] =
      R"("input_sizes":[],"input_dtypes":[],"output_sizes":[],"output_dtypes":[],"state":"completed","op_id":)";
  const auto listed = [](int record, const std::string& call) {
    return entry_of(record, call, 1, 3,
                    R"("op_id":)" + std::to_string(record + 13) + ',' + scheduled());
  };
  return read(dump_of(
      entry_of(0, "nccl:all_reduce", 1, 2, R"("op_id":13,)" + std::string(kFloats)) + ',' +
      listed(1, "nccl:send 1->0") + ',' + listed(2, "nccl:recv 1<-0") + ',' +
      entry_of(3, "nccl:coalesced", end.collective, 3, kEnd + std::to_string(end.op_id)) + ',' +
      entry_of(4, "nccl:coalesced", bare.collective, 3, kEnd + std::to_string(bare.op_id)) + ',' +
      entry_of(5, "nccl:all_reduce", 3, 3, R"("op_id":17,)" + std::string(kFloats))));
}

TEST_CASE("a number of an entry behind calls that were made together is damaged") {
  const auto check = [](const Dump& dump) {
    REQUIRE(dump.file.operations.size() == 5);
    CHECK(dump.file.operations[1].group == 1U);
    CHECK(dump.file.operations[2].group == 1U);
    CHECK_FALSE(dump.file.operations[2].in_flight);
    CHECK(dump.file.operations[3].seq == 2);
    CHECK(dump.file.operations[4].seq == 3);
  };
  const Dump sound = read_together({1, 15}, {2, 16});
  check(sound);
  CHECK(sound.problems.bad_lines() == 0);
  for (const Together& end :
       {Together{2, 15}, Together{0, 15}, Together{77, 15}, Together{1, 16}}) {
    const Dump dump = read_together(end, {2, 16});
    CAPTURE(end.collective, end.op_id, problems_of(dump));
    check(dump);
    CHECK(dump.problems.bad_lines() == 1);
    CHECK(dump.problems.lines().front().line == 4);
    CHECK(dump.file.bad_lines == 1);  // so nothing that it lacks counts against the rank
  }
  for (const Together& bare : {Together{1, 16}, Together{3, 16}, Together{2, 15}}) {
    const Dump dump = read_together({1, 15}, bare);
    CAPTURE(bare.collective, bare.op_id, problems_of(dump));
    check(dump);
    CHECK(dump.problems.bad_lines() == 1);
    CHECK(dump.problems.lines().front().line == 5);
    CHECK(dump.file.doubtful == std::vector<std::uint64_t>{4});
    CHECK(dump.file.bad_lines == 1);
  }
}

TEST_CASE("an entry behind a hole may end calls that are lost with it, and is none itself") {
  constexpr char kEnd[] = R"("input_sizes":[],"output_sizes":[],"state":"completed","op_id":4)";
  const Dump dump =
      read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, R"("op_id":1,)" + std::string(kFloats)) +
                   ',' + entry_of(4, "nccl:coalesced", 2, 1, kEnd) + ',' +
                   entry_of(5, "nccl:all_reduce", 3, 1, R"("op_id":5,)" + std::string(kFloats))));
  CHECK(problems_of(dump) ==
        std::vector<std::string>{
            "2: records 1 to 3 are missing before this entry: their calls are not recorded",
            "2: the entry is behind calls that were made together, and they are not recorded"});
  REQUIRE(dump.file.operations.size() == 2);
  CHECK(dump.file.operations[1].seq == 3);
}

}  // namespace
}  // namespace ringside::load
