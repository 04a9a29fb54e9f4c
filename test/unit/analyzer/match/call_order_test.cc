// SPDX-License-Identifier: Apache-2.0
//
// Ranks that make the same calls in different orders.
#include "analyzer/match/verdict/call_order.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

struct Called {
  std::string func;
  std::uint64_t seq = 0;
  std::uint64_t group = 0;
};

using Calls = std::vector<Called>;

// Gives each call the number that NCCL gives it: functions count by themselves.
Calls numbered(const std::string& letters) {
  const std::map<char, std::string> functions = {
      {'r', "AllReduce"}, {'g', "AllGather"}, {'s', "ReduceScatter"}, {'b', "Broadcast"}};
  std::map<char, std::uint64_t> next;
  Calls calls;
  for (const char letter : letters) {
    calls.push_back({functions.at(letter), next[letter]++, 0});
  }
  return calls;
}

void add_rank(TraceBuilder& builder, std::uint32_t rank, std::uint32_t ranks, const Calls& calls) {
  builder.add_file(rank, "0x1", ranks);
  for (const Called& call : calls) {
    builder.add(call.func, call.seq).group = call.group;
  }
}

std::vector<std::string> told(TraceBuilder& builder) {
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

TEST_CASE("a rank that swaps two calls is named, though all numbers are equal", "[order]") {
  const bool is_finished = GENERATE(true, false);
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    add_rank(builder, rank, 4, numbered(rank == 3 ? "rgrs" : "rrgs"));
    if (!is_finished) {
      model::TraceFile& file = builder.traces().files.back();
      file.process.dump = true;
      for (model::Operation& operation : builder.operations(rank)) {
        operation.in_flight = operation.id > 1;
      }
    }
  }
  CHECK(told(builder) ==
        std::vector<std::string>{
            "AllReduce #1: function AllGather #0 on rank 3 (the minority), AllReduce #1 on "
            "ranks 0-2; all made these 2 calls, in different orders"});
}

TEST_CASE("the order tells nothing where records are lost", "[order]") {
  TraceBuilder builder;
  add_rank(builder, 0, 2, numbered("rrgs"));
  add_rank(builder, 1, 2, numbered("rgrs"));
  CHECK(told(builder).size() == 1);
  builder.traces().files[1].account.dropped["Coll dropped_ring_full"] = 1;
  CHECK(told(builder).empty());
}

TEST_CASE("a call that comes long after its place is one finding", "[order]") {
  TraceBuilder builder;
  add_rank(builder, 0, 2, numbered("rgsbr"));
  add_rank(builder, 1, 2, numbered("gsbrr"));
  const auto texts = told(builder);
  REQUIRE(texts.size() == 1);
  CHECK(texts.front().ends_with(
      "AllReduce #0 on rank 0, AllGather #0 on rank 1 (a tie); all made these 4 calls, in "
      "different orders"));
}

TEST_CASE("calls without a number have an order where no record is lost", "[order]") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (const bool is_broadcast : {rank == 0, rank == 1}) {
      if (is_broadcast) {
        model::Operation& call = builder.add("Broadcast", std::nullopt);
        call.kind = model::Kind::kApi;
        call.state = model::State::kEnqueued;
      } else {
        builder.add("AllReduce", 0);
      }
    }
  }
  CHECK(told(builder).size() == 1);
  builder.traces().files[1].bad_lines = 1;
  for (const std::string& text : told(builder)) {
    CHECK(text.find("function") == std::string::npos);
  }
}

TEST_CASE("the order of replays, and of calls without a time, tells nothing", "[order]") {
  TraceBuilder builder;
  add_rank(builder, 0, 2, numbered("rgs"));
  add_rank(builder, 1, 2, numbered("grs"));
  const bool is_graph = GENERATE(true, false);
  for (model::Operation& operation : builder.operations(1)) {
    if (is_graph) {
      operation.graph = true;
    } else {
      operation.enqueue_start_ns.reset();
    }
  }
  for (const std::string& text : told(builder)) {
    CHECK(text.find("function") == std::string::npos);
  }
}

// Groups of up to three calls, the same ones on all ranks. NCCL may order the calls of a group as
// it likes, also on each rank differently. Where no groups are swapped, one rank may give another
// root in one of the calls.
TEST_CASE("only swaps between groups and other roots are told, at random", "[order]") {
  std::mt19937 random(5);
  for (int run = 0; run < 500; ++run) {
    const auto ranks = static_cast<std::uint32_t>(3 + random() % 3);
    std::string letters;
    for (std::size_t i = 0, size = 2 + random() % 20; i < size; ++i) {
      letters.push_back("rgsb"[random() % 4]);
    }
    std::vector<Calls> groups;
    std::uint64_t group = 0;
    for (const Called& call : numbered(letters)) {
      if (groups.empty() || random() % 3 != 0 || groups.back().size() == 3) {
        groups.emplace_back();
        ++group;
      }
      groups.back().push_back(call);
      groups.back().back().group = groups.back().size() == 1 && random() % 2 == 0 ? 0 : group;
      for (Called& of_group : groups.back()) {
        of_group.group = groups.back().size() > 1 ? group : of_group.group;
      }
    }
    // A swap that numbers do not show: the two groups have no function in common.
    const std::size_t at = groups.size() > 1 ? random() % (groups.size() - 1) : 0;
    const bool can_swap =
        groups.size() > 1 && std::none_of(groups[at].begin(), groups[at].end(), [&](const auto& a) {
          return std::any_of(groups[at + 1].begin(), groups[at + 1].end(),
                             [&](const auto& b) { return a.func == b.func; });
        });
    const bool is_swapped = can_swap && random() % 2 == 0;
    const auto odd = static_cast<std::uint32_t>(random() % ranks);
    const bool has_root = !is_swapped && random() % 2 == 0;
    const auto of_root = random() % letters.size();
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::vector<Calls> own = groups;
      if (is_swapped && rank == odd) {
        std::swap(own[at], own[at + 1]);
      }
      Calls calls;
      for (Calls& of_group : own) {
        std::shuffle(of_group.begin(), of_group.end(), random);
        calls.insert(calls.end(), of_group.begin(), of_group.end());
      }
      add_rank(builder, rank, ranks, calls);
      if (has_root) {
        const Called call = numbered(letters)[of_root];
        for (std::size_t i = 0; i < calls.size(); ++i) {
          if (calls[i].func == call.func && calls[i].seq == call.seq) {
            builder.operations(rank)[i].root = rank == odd ? 1 : 0;
          }
        }
      }
    }
    const auto texts = told(builder);
    INFO(letters << ", run " << run);
    REQUIRE(texts.size() == (is_swapped || has_root ? 1 : 0));
    if (has_root) {
      CHECK(texts.front().find("root 1 on rank " + std::to_string(odd) + " (the minority)") !=
            std::string::npos);
      CHECK(texts.front().find("undecided") == std::string::npos);
    }
    if (is_swapped) {
      CHECK(texts.front().find("on rank " + std::to_string(odd) + " (the minority)") !=
            std::string::npos);
    }
  }
}

// Calls of which those in brackets are one group.
Calls grouped(const std::string& text) {
  std::string letters;
  std::vector<std::uint64_t> groups;
  std::uint64_t group = 0;
  std::uint64_t next = 1;
  for (const char letter : text) {
    if (letter == '(') {
      group = next++;
    } else if (letter == ')') {
      group = 0;
    } else {
      letters.push_back(letter);
      groups.push_back(group);
    }
  }
  Calls calls = numbered(letters);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].group = groups[i];
  }
  return calls;
}

std::vector<std::string> told_of(const std::vector<std::string>& calls_of_ranks) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < calls_of_ranks.size(); ++rank) {
    add_rank(builder, rank, static_cast<std::uint32_t>(calls_of_ranks.size()),
             grouped(calls_of_ranks[rank]));
  }
  return told(builder);
}

TEST_CASE("the order of calls in groups hides no other trouble", "[order]") {
  // A rank that leaves out a call is named, and so is the call.
  const auto left_out = told_of({"(rs)b(rs)g(rs)b", "(rs)b(rs)g(rs)b", "(sr)b(sr)(sr)b"});
  CHECK(left_out == told_of({"(rs)b(rs)g(rs)b", "(rs)b(rs)g(rs)b", "(rs)b(rs)(rs)b"}));
  REQUIRE(left_out.size() == 1);
  CHECK(left_out.front() == "AllGather #0: rank 2 did not call it");
  // So is one that calls another function, also in a group.
  CHECK(told_of({"(rs)b(rs)b(rs)b", "(rs)b(rs)b(rs)b", "(sr)b(sr)g(sr)b"}) ==
        told_of({"(rs)b(rs)b(rs)b", "(rs)b(rs)b(rs)b", "(rs)b(rs)g(rs)b"}));
  CHECK(told_of({"(rs)b(rs)b", "(rs)b(rs)b", "(sr)b(bs)b"}) ==
        told_of({"(rs)b(rs)b", "(rs)b(rs)b", "(rs)b(bs)b"}));
}

}  // namespace
}  // namespace ringside::match
