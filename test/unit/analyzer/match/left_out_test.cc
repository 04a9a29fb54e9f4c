// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/left_out.h"

#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/embedding.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

// The calls of each rank: upper case AllReduce, lower case AllGather, each letter a size.
TraceBuilder called(std::initializer_list<const char*> calls_of_ranks) {
  TraceBuilder builder;
  std::uint32_t rank = 0;
  for (const std::string calls : calls_of_ranks) {
    builder.add_file(rank++, "0x1", static_cast<std::uint32_t>(calls_of_ranks.size()));
    std::map<std::string, std::uint64_t> numbers;
    for (const char call : calls) {
      const std::string func = call < 'a' ? "AllReduce" : "AllGather";
      builder.add(func, numbers[func]++).bytes = static_cast<std::uint64_t>(call);
    }
  }
  return builder;
}

// Findings, and the number of operations with each verdict that has any.
std::vector<std::string> told(TraceBuilder builder) {
  const Matches matches = match_operations(builder.traces());
  const auto judgements = judge_all(builder.traces(), matches);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (judgements[i].verdict != Verdict::kMatched && is_first_of_its_place(judgements, i)) {
      texts.push_back(describe(builder.traces(), matches, judgements, i));
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST_CASE("the call that was left out is named, not the last number") {
  CHECK(told(called({"ABCDEF", "ABDEF", "ABCDEF"})) ==
        Texts{"AllReduce #2: rank 1 did not call it (from there on numbers are of later calls "
              "there)",
              "AllReduce #3: bytes 69 on rank 1 (the minority), 68 on ranks 0, 2 (undecided: "
              "before it the ranks stop agreeing on the order of their calls)",
              "AllReduce #4: bytes 70 on rank 1 (the minority), 69 on ranks 0, 2 (undecided: "
              "before it the ranks stop agreeing on the order of their calls)",
              "AllReduce #5: which call of rank 1 it is cannot be decided"});
  // The same of sizes that are all alike, told by the calls around.
  CHECK(told(called({"AaAbAcA", "AabAcA"})) ==
        Texts{"AllReduce #1: rank 1 did not call it (from there on numbers are of later calls "
              "there)",
              "AllReduce #3: which call of rank 1 it is cannot be decided"});
}

TEST_CASE("several ranks may leave out several calls") {
  const auto texts = told(called({"ABCDE", "ACE", "ABCE", "ABCDE"}));
  REQUIRE(texts.size() == 4);
  CHECK(texts[0] ==
        "AllReduce #1: rank 1 did not call it (from there on numbers are of later calls there)");
  CHECK(texts[2] ==
        "AllReduce #3: ranks 1, 2 did not call it (from there on numbers are of later calls "
        "there)");
  CHECK(texts[3] == "AllReduce #4: which call of ranks 1, 2 it is cannot be decided");
}

TEST_CASE("of calls that are alike none is named") {
  CHECK(told(called({"AAAA", "AAA"})) ==
        Texts{"AllReduce, one of #0 to #3: rank 1 did not call it (which is not known: these calls "
              "are alike)"});
  CHECK(
      told(called({"AAAAA", "AAA", "AAAAA"})) ==
      Texts{"AllReduce, 2 of #0 to #4: rank 1 did not call it (which is not known: these calls are "
            "alike)"});
  CHECK(told(called({"BAAAC", "BAAC"}))[1] ==
        "AllReduce, one of #1 to #3: rank 1 did not call it (which is not known: these calls are "
        "alike)");
  CHECK(
      told(called({"ABABAB", "ABAB"})) ==
      Texts{"AllReduce, 2 of #0 to #5: rank 1 did not call it (which is not known: these calls are "
            "alike)"});
}

TEST_CASE("a rank that stopped calling left out the last ones") {
  CHECK(told(called({"ABCD", "ABC"})) == Texts{"AllReduce #3: rank 1 did not call it"});
}

TEST_CASE("numbers in between that are absent count what was left out") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 6; ++seq) {
      if (rank == 0 || seq != 2) {
        builder.add("AllReduce", seq);
      }
    }
  }
  CHECK(told(std::move(builder)) == Texts{"AllReduce #2: rank 1 did not call it"});
}

TEST_CASE("where the ranks disagree otherwise, too, no number is named") {
  CHECK(told(called({"ABCDEF", "AXCDE"})).back() ==
        "AllReduce, one call: rank 1 did not call it (which is not known: the order of its calls "
        "does not show it)");
}

TEST_CASE("of a part of the operations no number is named") {
  TraceBuilder builder = called({"ABCDEF", "ABDEF"});
  Matches matches = match_operations(builder.traces());
  matches.is_part = true;
  const auto judgements = judge_all(builder.traces(), matches);
  CHECK(judgements.back().is_number_unknown);
}

TEST_CASE("what every way to leave out calls has in common, against all ways") {
  std::mt19937 random(1);
  for (int run = 0; run < 2000; ++run) {
    std::vector<std::uint32_t> reference(1 + random() % 9);
    for (auto& symbol : reference) {
      symbol = static_cast<std::uint32_t>(random() % 3);
    }
    std::vector<std::uint32_t> calls;
    for (const auto symbol : reference) {
      if (random() % 3 > 0) {
        calls.push_back(symbol);
      }
    }
    if (random() % 8 == 0) {
      calls.push_back(0);
    }
    std::vector<bool> used(reference.size());
    std::vector<bool> left_out(reference.size());
    bool is_there = false;
    for (std::uint32_t kept = 0; kept < 1U << reference.size(); ++kept) {
      std::vector<std::uint32_t> made;
      for (std::size_t k = 0; k < reference.size(); ++k) {
        if ((kept >> k & 1U) != 0) {
          made.push_back(reference[k]);
        }
      }
      if (made != calls) {
        continue;
      }
      is_there = true;
      for (std::size_t k = 0; k < reference.size(); ++k) {
        ((kept >> k & 1U) != 0 ? used : left_out)[k] = true;
      }
    }
    const Embedding embedding(reference, calls);
    REQUIRE(embedding.is_there() == is_there);
    for (std::size_t k = 0; is_there && k < reference.size(); ++k) {
      CHECK(embedding.may_be_kept(k) == used[k]);
      CHECK(embedding.may_be_removed(k) == left_out[k]);
    }
  }
}

}  // namespace
}  // namespace ringside::match
