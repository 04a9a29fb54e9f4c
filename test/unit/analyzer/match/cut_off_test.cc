// SPDX-License-Identifier: Apache-2.0
//
// Processes that were killed, or dumped while they ran: what they had not come to they did not
// leave out.
#include "analyzer/match/verdict/cut_off.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

using Texts = std::multiset<std::string>;

// The calls of a rank: upper case AllReduce, lower case AllGather, each letter a size.
void add_rank(TraceBuilder& builder, std::uint32_t rank, std::uint32_t ranks,
              const std::string& calls) {
  builder.add_file(rank, "0x1", ranks);
  std::map<std::string, std::uint64_t> numbers;
  for (const char call : calls) {
    const std::string func = call < 'a' ? "AllReduce" : "AllGather";
    builder.add(func, numbers[func]++).bytes = static_cast<std::uint64_t>(call);
  }
}

// Two ranks that called `all`, and between them one that called `some` and was killed.
TraceBuilder with_a_killed(const std::string& all, const std::string& some) {
  TraceBuilder builder;
  add_rank(builder, 0, 3, all);
  add_rank(builder, 1, 3, some);
  builder.traces().files.back().recovered = true;
  add_rank(builder, 2, 3, all);
  return builder;
}

Texts told(TraceBuilder builder) {
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches);
  Texts texts;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (judgements[i].verdict != Verdict::kMatched && is_first_of_its_place(judgements, i)) {
      texts.insert(describe(builder.traces(), matches, judgements, i));
    }
  }
  return texts;
}

TEST_CASE("what a killed process had not come to is not missing") {
  CHECK(told(with_a_killed("ABCDE", "ABC")) == Texts{"AllReduce #3: it is not recorded on rank 1",
                                                     "AllReduce #4: it is not recorded on rank 1"});
  CHECK(told(with_a_killed("AAAA", "AA")) == Texts{"AllReduce #2: it is not recorded on rank 1",
                                                   "AllReduce #3: it is not recorded on rank 1"});
  CHECK(told(with_a_killed("AaBb", "Aa")) == Texts{"AllGather #1: it is not recorded on rank 1",
                                                   "AllReduce #1: it is not recorded on rank 1"});
  CHECK(told(with_a_killed("AB", "")) == Texts{"AllReduce #0: it is not recorded on rank 1",
                                               "AllReduce #1: it is not recorded on rank 1"});
}

TEST_CASE("nor is what a rank called, or did not, after a call that never finished") {
  // The others were killed, or failed: NCCL refuses what this one calls after that.
  TraceBuilder builder = with_a_killed("ABCDE", "ABC");
  builder.traces().files[1].recovered = false;
  SECTION("its last call never finished") {
    builder.operations(1)[2].in_flight = true;
    CHECK(told(std::move(builder)) == Texts{"AllReduce #3: it is not recorded on rank 1",
                                            "AllReduce #4: it is not recorded on rank 1"});
  }
  SECTION("only the end of an earlier call was lost") {
    builder.operations(1)[1].in_flight = true;
    CHECK(told(std::move(builder)) ==
          Texts{"AllReduce #3: rank 1 did not call it", "AllReduce #4: rank 1 did not call it"});
  }
}

TEST_CASE("nor is what a process had not come to when it was dumped, or whose records were lost") {
  TraceBuilder builder = with_a_killed("ABCDE", "ABC");
  model::TraceFile& file = builder.traces().files[1];
  file.recovered = false;
  SECTION("dumped") {
    file.process.dump = true;
  }
  SECTION("nobody closed the file") {
    file.closed = false;
  }
  SECTION("records were lost") {
    file.account.dropped["Coll dropped_ring_full"] = 1;
  }
  SECTION("the last line was cut off") {
    file.torn = true;
  }
  CHECK(told(std::move(builder)) == Texts{"AllReduce #3: it is not recorded on rank 1",
                                          "AllReduce #4: it is not recorded on rank 1"});
}

TEST_CASE("what a killed process left out before its last call is missing") {
  CHECK(told(with_a_killed("AaBCD", "ABC")) == Texts{"AllGather #0: rank 1 did not call it",
                                                     "AllReduce #3: it is not recorded on rank 1"});
  // By the order of the calls, where numbers are of later ones.
  CHECK(told(with_a_killed("ABCDE", "ABD"))
            .contains(
                "AllReduce #2: rank 1 did not call it (from there on numbers are of later calls "
                "there)"));
  CHECK(told(with_a_killed("AAAaA", "AAa")) ==
        Texts{"AllReduce, one of #0 to #2: rank 1 did not call it (which is not known: these calls "
              "are alike)",
              "AllReduce #3: it is not recorded on rank 1"});
  TraceBuilder dumped = with_a_killed("AaBCD", "ABC");
  dumped.traces().files[1].recovered = false;
  dumped.traces().files[1].process.dump = true;
  CHECK(told(std::move(dumped)).contains("AllGather #0: rank 1 did not call it"));
}

TEST_CASE("where all were killed, the ranks are held against the one that came furthest") {
  TraceBuilder builder = with_a_killed("AaBCD", "ABC");
  for (model::TraceFile& file : builder.traces().files) {
    file.recovered = true;
  }
  CHECK(told(std::move(builder)) == Texts{"AllGather #0: rank 1 did not call it",
                                          "AllReduce #3: it is not recorded on rank 1"});
}

TEST_CASE("a file that nobody closed may lack operations in the middle") {
  TraceBuilder builder = with_a_killed("AaBCD", "ABC");
  builder.traces().files[1].recovered = false;
  builder.traces().files[1].closed = false;
  CHECK(told(std::move(builder)).contains("AllGather #0: it is not recorded on rank 1"));
}

TEST_CASE("of a group that a kill cut in two nothing is missing") {
  // NCCL enqueues the calls of a group in an order of its own.
  TraceBuilder builder = with_a_killed("AaBCD", "AB");
  for (std::size_t file = 0; file < 3; ++file) {
    for (std::size_t i = 1; i < builder.operations(file).size() && i < 3; ++i) {
      builder.operations(file)[i].group = 7;
    }
  }
  CHECK(told(std::move(builder)).contains("AllGather #0: it is not recorded on rank 1"));
}

TEST_CASE("a receive is missing only if its rank went on to a later collective") {
  const bool goes_on = GENERATE(false, true);
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllReduce", 0);
  builder.add_transfer("Send", 1);
  builder.add("AllReduce", 1);
  builder.add_file(1);
  builder.add("AllReduce", 0);
  if (goes_on) {
    builder.add("AllReduce", 1);
  }
  builder.traces().files[1].recovered = true;
  const auto texts = told(std::move(builder));
  REQUIRE(texts.size() == (goes_on ? 1 : 2));
  CHECK(
      texts.rbegin()->ends_with(goes_on ? "rank 1 did not call it" : "is not recorded on rank 1"));
}

// The truth is how the calls of the killed rank were made.
TEST_CASE("killed ranks that leave out calls, at random", "[answers]") {
  std::mt19937 random(3);
  std::size_t missing = 0;
  for (int run = 0; run < 3000; ++run) {
    std::string all;
    for (std::size_t i = 0, size = 1 + random() % 9; i < size; ++i) {
      all.push_back("ABab"[random() % 4]);
    }
    std::string some;
    std::set<std::size_t> left_out;
    const std::size_t end = random() % (all.size() + 1);
    for (std::size_t i = 0; i < end; ++i) {
      if (random() % 4 == 0) {
        left_out.insert(i);
      } else {
        some.push_back(all[i]);
      }
    }
    // It may as well not have come to the calls that it left out last.
    std::size_t last = end;
    while (last > 0 && left_out.contains(last - 1)) {
      left_out.erase(--last);
    }
    TraceBuilder builder = with_a_killed(all, some);
    const Matches matches = match_operations(builder.traces());
    const auto judgements = judge_all(builder.traces(), matches);
    std::size_t told_missing = 0;
    for (std::size_t i = 0; i < judgements.size(); ++i) {
      told_missing += judgements[i].verdict == Verdict::kMissing ? 1 : 0;
    }
    INFO(all << ": " << some);
    CHECK(told_missing <= left_out.size());
    CHECK((told_missing > 0) == !all.starts_with(some));
    missing += told_missing;
  }
  CHECK(missing > 500);
}

}  // namespace
}  // namespace ringside::match
