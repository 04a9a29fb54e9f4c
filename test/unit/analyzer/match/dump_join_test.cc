// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/dump_join.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/match/matcher.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kUs = 1000;

// A rank's trace and dump. The communicator "world:0" is the process group "0", "everyone".
class JoinedRank {
 public:
  JoinedRank() {
    for (model::TraceFile* const file : {&trace, &dump}) {
      file->process.launcher_rank = 1;
      file->process.base_time_s = 1'795'000'000;
      file->windows[1].start_ns = 0;
      model::Context& context = file->contexts[1];
      context.created_ns = 1;
      context.rank = 1;
      context.nranks = 2;
    }
    trace.path = "trace";
    trace.contexts[1].comm = "0x7";
    trace.contexts[1].name = "world:0";
    dump.contexts[1].comm = "0 [0, 1]";
    dump.contexts[1].name = "everyone";
    dump.process.tells_begin = false;
  }

  void called(std::string_view func, std::uint64_t floats, std::int64_t at_us,
              std::optional<std::uint64_t> group = std::nullopt) {
    model::Operation operation;
    operation.id = trace.operations.size() + 1;
    operation.context = 1;
    operation.func = traces.names.id(func);
    operation.datatype = traces.names.id("ncclFloat32");
    operation.count = floats;
    operation.group = group;
    operation.enqueue_start_ns = at_us * kUs;
    trace.operations.push_back(operation);
  }

  void noted(std::string_view name, std::uint64_t bytes, std::int64_t at_us) {
    model::Operation entry;
    entry.id = dump.operations.size();
    entry.context = 1;
    entry.func = traces.names.id(name);
    entry.called_by = traces.names.id("/train.py:" + std::to_string(++lines) + " in step");
    entry.enqueue_start_ns = at_us * kUs;
    dump.operations.push_back(entry);
    dump.tensors.push_back({1, 1, 100 + lines});
    dump.tensor_bytes.insert(dump.tensor_bytes.end(), {bytes, bytes});
    dump.last_ns = at_us * kUs;
  }

  // Returns the line of each call of the trace; 0 where it has none.
  std::vector<int> join() {
    traces.files = {dump, trace};
    joined = join_dumps(traces);
    std::vector<int> found;
    for (const model::Operation& operation : traces.files.front().operations) {
      const std::string_view site = traces.names.text(operation.called_by);
      found.push_back(site.empty() ? 0 : std::stoi(std::string(site.substr(site.find(':') + 1))));
      CHECK(operation.torch_seq.has_value() == !site.empty());
    }
    return found;
  }

  model::Traces traces;
  model::TraceFile trace;
  model::TraceFile dump;
  JoinedDumps joined;
  std::uint64_t lines = 0;
};

using LinesFound = std::vector<int>;

TEST_CASE("calls of a trace get the line, the number and the group of the entries of a dump") {
  JoinedRank rank;
  rank.noted("all_reduce", 16, 1000);
  rank.called("AllReduce", 4, 1010);
  rank.noted("broadcast", 32, 2000);
  rank.called("Broadcast", 8, 2010);
  CHECK(rank.join() == LinesFound{1, 2});
  CHECK(rank.joined.notes.empty());
  CHECK(rank.joined.dumps.files.size() == 1);
  model::TraceFile& trace = rank.traces.files.front();
  trace.contexts.at(1).operations = trace.operations.size();
  const Matches matches = match_operations(rank.traces);
  REQUIRE(matches.communicators.size() == 1);
  CHECK(matches.communicators[0].name == "everyone");
  CHECK(trace.operations[1].torch_seq == 102);
  CHECK(rank.traces.names.text(trace.operations[1].process_group) == "everyone");
}

TEST_CASE("a call of another function or size than the entry's stays without it") {
  JoinedRank rank;
  rank.noted("all_reduce", 16, 1000);
  rank.called("AllReduce", 5, 1010);
  rank.noted("all_reduce", 16, 2000);
  rank.called("AllGather", 4, 2010);
  rank.noted("all_reduce", 16, 3000);
  rank.called("AllReduce", 4, 3100);
  CHECK(rank.join() == LinesFound{0, 0, 3});
  REQUIRE(rank.joined.notes.size() == 1);
  CHECK(rank.joined.notes[0].find(
            "of 3 operations of ranks that have one, 2 could not be joined") != std::string::npos);
}

TEST_CASE("where the dump begins later, the clock tells which call the first entry is of") {
  JoinedRank rank;
  rank.dump.account.rotated = 2;
  for (int call = 0; call < 4; ++call) {
    rank.called("AllReduce", 4, 1010 + 1000 * call);
  }
  rank.noted("all_reduce", 16, 3000);
  rank.noted("all_reduce", 16, 4000);
  CHECK(rank.join() == LinesFound{0, 0, 1, 2});
}

TEST_CASE("where the clock does not tell it, nothing is joined until it does") {
  JoinedRank rank;
  rank.dump.account.rotated = 2;
  // The first two calls lie so close to the first entry that it may be of either.
  rank.called("AllReduce", 4, 2995);
  rank.called("AllReduce", 4, 3010);
  rank.called("AllReduce", 4, 9000);
  rank.noted("all_reduce", 16, 3000);
  rank.noted("all_reduce", 16, 8000);
  CHECK(rank.join() == LinesFound{0, 0, 2});
  CHECK(rank.joined.notes.size() == 1);
}

TEST_CASE("a group that is not listed is told by its place, and only where that is certain") {
  JoinedRank rank;
  rank.called("AllReduce", 4, 990, 7);
  rank.called("AllReduce", 8, 991, 7);
  rank.noted("coalesced", 0, 1000);
  rank.noted("all_reduce", 16, 2000);
  rank.called("AllReduce", 5, 2010);
  rank.called("AllReduce", 4, 2990, 8);
  rank.noted("coalesced", 0, 3000);
  CHECK(rank.join() == LinesFound{1, 1, 0, 0});
}

TEST_CASE("where the trace has lost records, nothing is joined") {
  JoinedRank rank;
  rank.trace.account.dropped["CollApi dropped_ring_full"] = 1;
  rank.noted("all_reduce", 16, 1000);
  rank.called("AllReduce", 4, 1100);
  CHECK(rank.join() == LinesFound{0});
  CHECK(rank.joined.notes.size() == 1);
}

TEST_CASE("a dump of another run of the rank is told from that of this one by its time") {
  JoinedRank rank;
  rank.dump.process.base_time_s += 3600;
  rank.dump.process.start_ns = 1000 * kUs;
  rank.noted("all_reduce", 16, 1000);
  rank.called("AllReduce", 4, 1010);
  CHECK(rank.join() == LinesFound{0});
  REQUIRE(rank.joined.notes.size() == 1);
  CHECK(rank.joined.notes[0].find("another time than all traces are not used: 1.") !=
        std::string::npos);
}

TEST_CASE("dumps without traces stay where they are") {
  JoinedRank rank;
  rank.noted("all_reduce", 16, 1000);
  rank.traces.files = {rank.dump};
  CHECK(join_dumps(rank.traces).dumps.files.empty());
  CHECK(rank.traces.files.size() == 1);
}

}  // namespace
}  // namespace ringside::match
