// SPDX-License-Identifier: Apache-2.0
//
// Communicators whose ranks made the same calls are matched without their rows, and others are not.
#include "analyzer/match/alike_calls.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "analyzer/match/verdict/findings.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

// What one process has of another's files.
std::optional<AlikeCalls> match_heads(TraceBuilder& builder) {
  const model::Traces& traces = builder.traces();
  model::Traces heads;
  for (model::NameId id = 0; id < traces.names.size(); ++id) {
    heads.names.id(traces.names.text(id));
  }
  for (const model::TraceFile& file : traces.files) {
    model::TraceFile& head = heads.files.emplace_back(file);
    head.operations = {};
    head.elsewhere = {file.operations.size(), file.operations.extent_ns(),
                      sum_up_calls(traces.names, file)};
  }
  return match_alike(heads);
}

void add_ranks(TraceBuilder& builder, std::uint32_t ranks, std::uint32_t nranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_file(rank, "0x1", nranks).process.nccl_version = "2.29.7";
    for (std::uint64_t i = 0; i < 4; ++i) {
      builder.add("AllReduce", i);
      builder.add("Broadcast", i).root = 1;
    }
  }
}

// By communicator.
std::vector<CommunicatorFindings> findings_of(const AlikeCalls& alike) {
  std::vector<CommunicatorFindings> findings(alike.functions.size());
  count_alike(alike, findings);
  return findings;
}

std::uint64_t count_of(const AlikeCalls& alike, Verdict verdict) {
  return findings_of(alike).front().verdicts[static_cast<std::size_t>(verdict)];
}

TEST_CASE("ranks that made the same calls match, at whatever times they did") {
  TraceBuilder builder;
  add_ranks(builder, 3, 3);
  const auto alike = match_heads(builder);
  REQUIRE(alike);
  CHECK(count_of(*alike, Verdict::kMatched) == 8);
  CHECK(alike->functions.front().size() == 2);
  CHECK(calls_by_number(builder.traces().files[1].operations).size() == 2);
}

TEST_CASE("ranks that called the same operations in other groups did not make the same calls") {
  TraceBuilder builder;
  add_ranks(builder, 2, 2);
  for (std::size_t file = 0; file < 2; ++file) {
    for (model::Operation& one : builder.operations(file)) {
      one.group = 10 * file + one.id / 2;  // their numbers are each rank's own
    }
  }
  CHECK(match_heads(builder));
  builder.operations(1)[3].group = *builder.operations(1)[2].group;
  CHECK_FALSE(match_heads(builder));
  for (std::size_t file = 0; file < 2; ++file) {
    builder.operations(file)[3].group = 0;  // this number was before
  }
  CHECK_FALSE(match_heads(builder));
}

TEST_CASE("rows of the network leave calls the same") {
  TraceBuilder builder;
  add_ranks(builder, 2, 2);
  builder.traces().files[1].steps.emplace_back().operation = 1;
  builder.traces().files[1].proxies.emplace_back().operation = 1;
  CHECK(match_heads(builder));
}

TEST_CASE("rows of the same calls are matched as those of any calls") {
  TraceBuilder builder;
  add_ranks(builder, 3, 3);
  const auto alike = match_heads(builder);
  REQUIRE(alike);
  const Matches all = match_operations(builder.traces());
  const Matches same = match_rows(builder.traces(), *alike);
  REQUIRE(same.operations.size() == all.operations.size());
  for (std::size_t i = 0; i < all.operations.size(); ++i) {
    CHECK(same.operations[i].func == all.operations[i].func);
    CHECK(same.operations[i].number == all.operations[i].number);
    CHECK(same.operations[i].way == all.operations[i].way);
    REQUIRE(same.operations[i].part_count == all.operations[i].part_count);
    for (std::size_t k = 0; k < all.operations[i].part_count; ++k) {
      CHECK(parts_of(same, same.operations[i])[k].operation ==
            parts_of(all, all.operations[i])[k].operation);
    }
  }
  CHECK(same.everywhere == std::vector<std::uint64_t>{8});
}

TEST_CASE("a rank without a trace has not recorded them") {
  TraceBuilder builder;
  add_ranks(builder, 2, 3);
  const auto alike = match_heads(builder);
  REQUIRE(alike);
  CHECK(count_of(*alike, Verdict::kNotRecorded) == 8);
}

TEST_CASE("whatever differs in one call asks for the rows") {
  using Change = std::function<void(TraceBuilder&)>;
  const auto to_call = [](const std::function<void(model::Operation&)>& change) -> Change {
    return [change](TraceBuilder& builder) { change(builder.operations(2)[5]); };
  };
  const std::vector<Change> changes = {
      to_call([](auto& o) { o.bytes = 1001; }),
      to_call([](auto& o) { o.bytes.reset(); }),
      to_call([](auto& o) { o.count = 1001; }),
      to_call([](auto& o) { o.root = 2; }),
      to_call([](auto& o) { o.seq = 7; }),
      to_call([](auto& o) { o.seq.reset(); }),
      to_call([](auto& o) { o.graph = true; }),
      to_call([](auto& o) { o.in_flight = true; }),
      to_call([](auto& o) { o.datatype = model::kNoName; }),
      to_call([](auto& o) { *o.enqueue_start_ns += 1'000'000; }),  // in another order
      [](TraceBuilder& b) { b.operations(2)[5].func = b.traces().names.id("Reduce"); },
      [](TraceBuilder& b) { b.operations(2).pop_back(); },
      [](TraceBuilder& b) { b.add("AllReduce", 3); },  // a number that repeats
      [](TraceBuilder& b) { b.add_transfer("Send", 1); },
      [](TraceBuilder& b) { b.traces().files[2].process.abi = 1; },
      [](TraceBuilder& b) { b.traces().files[2].process.segment = 2; },
      [](TraceBuilder& b) { b.traces().files[2].next_segment = 2; },
      [](TraceBuilder& b) { b.traces().files[2].process.run_id = "1.json"; },
      [](TraceBuilder& b) { b.traces().files[2].contexts[1].rank.reset(); },
      // Numbers that count only while recording, of a rank whose first window came later.
      [](TraceBuilder& b) {
        b.traces().files[2].process.nccl_version = "2.25.1";
        b.traces().files[2].windows[1].start_ns = 2;
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    TraceBuilder builder;
    add_ranks(builder, 3, 3);
    builder.traces();
    changes[i](builder);
    CHECK_FALSE(match_heads(builder));
  }
}

TEST_CASE("only the rows of communicators whose ranks differ are asked for") {
  TraceBuilder builder;
  add_ranks(builder, 3, 3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    model::TraceFile& file = builder.traces().files[rank];
    file.contexts[2] = file.contexts[1];
    file.contexts[2].comm = "0x2";
    auto& operations = builder.operations(rank);
    operations.push_back(operations.back());
    operations.back().context = 2;
    operations.back().in_flight = rank == 2;
  }
  const auto alike = match_heads(builder);
  REQUIRE(alike);
  const std::uint32_t stays = alike->matches.communicators[0].hash == "0x1" ? 0 : 1;
  CHECK(alike->operations(stays) == 8);
  CHECK_FALSE(alike->needs_rows(stays));
  CHECK(alike->needs_rows(1 - stays));
  CHECK(alike->contexts_needed(builder.traces()) ==
        std::vector<std::vector<std::uint32_t>>(3, {2}));
}

// Random jobs, some of whose ranks differ a little.
TEST_CASE("what is matched without rows is what is matched with them") {
  std::mt19937 random(3);
  const auto below = [&](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random);
  };
  int alike_jobs = 0;
  for (int job = 0; job < 400; ++job) {
    CAPTURE(job);
    TraceBuilder builder;
    const std::uint32_t ranks = 1 + below(3);
    const std::uint32_t nranks = ranks + below(2);
    std::vector<std::uint32_t> calls(below(6) + 1);
    for (std::uint32_t& call : calls) {
      call = below(3);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      model::TraceFile& file = builder.add_file(rank, "0x1", nranks);
      file.process.nccl_version = "2.29.7";
      file.closed = below(8) > 0;
      file.bad_lines = below(8) > 0 ? 0 : 1;
      std::vector<std::uint64_t> numbers(3);
      for (const std::uint32_t call : calls) {
        if (below(40) == 0) {
          continue;
        }
        auto& operation = builder.add(
            std::vector<std::string>{"AllReduce", "Reduce", "Other"}[call], numbers[call]++);
        operation.root = 0;
        operation.bytes = below(40) == 0 ? 5 : 1000;
      }
    }
    const Matches matches = match_operations(builder.traces());
    const auto findings =
        find_findings(builder.traces(), matches, judge_all(builder.traces(), matches), 10);
    if (const auto alike = match_heads(builder)) {
      ++alike_jobs;
      REQUIRE(alike->matches.communicators.size() == matches.communicators.size());
      for (std::size_t c = 0; c < findings.size(); ++c) {
        CHECK(findings_of(*alike)[c].verdicts == findings[c].verdicts);
        CHECK(findings[c].described.empty());
      }
    }
  }
  CHECK(alike_jobs > 100);
  CHECK(alike_jobs < 390);
}

}  // namespace
}  // namespace ringside::match
