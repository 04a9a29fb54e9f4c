// SPDX-License-Identifier: Apache-2.0
//
// Tests which rank waits for which, and which operations are not stuck.
#include "analyzer/metrics/hang/hang.h"

#include <limits>

#include "analyzer/report/hang/known_defects.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

using namespace ringside;
using metrics::Blocker;

namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

// A dump, half a minute after all that the builder does.
model::TraceFile& add_dump(TraceBuilder& builder, std::uint32_t rank, std::uint32_t nranks = 2) {
  model::TraceFile& file = builder.add_file(rank, "0x1", nranks);
  file.process.dump = true;
  file.process.nccl_version = "2.29.7";
  file.process.base_time_s = 1'790'857'026;
  file.last_ns = 30 * kSecond_ns;
  return file;
}

model::Operation& add_stuck(TraceBuilder& builder, const std::string& func, std::uint64_t seq,
                            std::uint32_t context = 1) {
  model::Operation& operation = builder.add(func, seq);
  operation.context = context;
  operation.enqueue_end_ns = *operation.enqueue_start_ns;
  operation.end_ns = {};
  operation.state = model::State::kStarted;
  operation.in_flight = true;
  return operation;
}

void add_communicator(model::TraceFile& file, const std::string& comm, std::uint32_t rank) {
  model::Context& context = file.contexts[2];
  context.comm = comm;
  context.rank = rank;
  context.nranks = 2;
  context.created_ns = 1;
  context.operations = 1;
}

metrics::Hang find(TraceBuilder& builder, std::int64_t min_age_ns = kSecond_ns) {
  const auto alignment = align::Alignment::estimate(builder.traces());
  return metrics::find_hang(builder.traces(), alignment, min_age_ns);
}

}  // namespace

TEST_CASE("a ring is found wherever it is, and nothing else is one") {
  CHECK(metrics::find_cycle({}).empty());
  CHECK(metrics::find_cycle({{1, 2}, {2}, {}}).empty());
  CHECK(metrics::find_cycle({{0}}) == std::vector<std::uint32_t>{0});
  CHECK(metrics::find_cycle({{1}, {2, 3}, {}, {1}}) == std::vector<std::uint32_t>{1, 3});
  // Many ways lead into the ring of the last two.
  CHECK(metrics::find_cycle({{1, 1}, {3, 2}, {3}, {4}, {3, 2}}).size() == 2);
}

TEST_CASE("a graph of waits says who leads to a ring, and what is reached") {
  // 0 -> 1 <-> 2 -> 3, and 4 -> 3.
  const metrics::WaitGraph graph = {{1}, {2}, {1, 3}, {}, {3}};
  CHECK(metrics::lead_to_ring(graph) == std::vector<bool>{true, true, true, false, false});
  CHECK(metrics::reached_from(graph, {4}) == std::vector<bool>{false, false, false, true, true});
  CHECK(metrics::reached_from(metrics::reversed(graph), {3}) ==
        std::vector<bool>{true, true, true, true, true});
}

TEST_CASE("a rank that has not joined is named, one without a trace is not") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    add_dump(builder, rank, 4);
    builder.add("AllReduce", 0);
    if (rank != 1) {
      add_stuck(builder, "AllReduce", 1);
    }
  }
  const metrics::Hang hang = find(builder);
  REQUIRE(hang.operations.size() == 1);
  const metrics::StuckOperation& stuck = hang.operations[0];
  CHECK(stuck.waiting.size() == 2);
  REQUIRE(stuck.blockers.size() == 1);
  CHECK(hang.positions[stuck.blockers[0].position].rank == 1U);
  CHECK(stuck.blockers[0].why == Blocker::Why::kNotJoined);
  CHECK_FALSE(stuck.blockers[0].stuck_in);
  CHECK(hang.without_trace.at(0) == std::vector<std::uint32_t>{3});
  CHECK(hang.cycle.empty());
}

TEST_CASE("of a rank whose trace cannot tell, nothing is said") {
  using metrics::Unknown;
  const auto why = [](auto change) -> std::optional<Unknown> {
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      add_dump(builder, rank);
      builder.add("AllReduce", 0);
    }
    add_stuck(builder, "AllReduce", 1);
    change(builder.traces().files[0]);
    const metrics::Hang hang = find(builder);
    REQUIRE(hang.operations.size() == 1);
    for (std::size_t i = 0; i < metrics::kUnknownCount; ++i) {
      if (!hang.operations[0].unknown[i].empty()) {
        CHECK(hang.operations[0].blockers.empty());
        return static_cast<Unknown>(i);
      }
    }
    CHECK(hang.operations[0].blockers.size() == 1);
    return std::nullopt;
  };
  CHECK_FALSE(why([](model::TraceFile&) {}));
  CHECK(why([](model::TraceFile& file) { file.account.dropped["Coll x"] = 1; }) == Unknown::kLost);
  CHECK(why([](model::TraceFile& file) { file.windows[1].end_ns = 5; }) == Unknown::kLost);
  CHECK(why([](model::TraceFile& file) { file.closed = false; }) == Unknown::kNotWritten);
  CHECK(why([](model::TraceFile& file) { file.last_ns = 10; }) == Unknown::kEndsBefore);
  // Numbers of old releases count what was recorded only.
  const auto old = [](model::TraceFile& file) { file.process.nccl_version = "2.25.1"; };
  CHECK_FALSE(why(old));
  CHECK(why([&](model::TraceFile& file) {
          old(file);
          file.windows[1].start_ns = 100;
        }) == Unknown::kLost);
  // A process that has ended does not come later, however early its trace ends.
  CHECK_FALSE(why([](model::TraceFile& file) {
    file.process.dump = false;
    file.last_ns = 10;
  }));
}

TEST_CASE("the chain of waiting leads across communicators to its root") {
  TraceBuilder builder;
  // Rank 0 is stuck in 0x1 and waits for rank 1, which is stuck in 0x2 and waits for rank 2.
  add_dump(builder, 0);
  add_stuck(builder, "AllReduce", 0);
  add_communicator(add_dump(builder, 1), "0x2", 0);
  add_stuck(builder, "AllGather", 0, 2);
  model::TraceFile& last = add_dump(builder, 9);
  add_communicator(last, "0x2", 1);
  last.contexts.erase(1);
  const metrics::Hang hang = find(builder);
  REQUIRE(hang.operations.size() == 2);
  REQUIRE(hang.operations[0].blockers.size() == 1);
  CHECK(hang.operations[0].blockers[0].stuck_in == 1U);
  REQUIRE(hang.operations[1].blockers.size() == 1);
  CHECK_FALSE(hang.operations[1].blockers[0].stuck_in);
  CHECK(hang.positions[hang.operations[1].blockers[0].position].file == 2);
  CHECK(hang.cycle.empty());
}

TEST_CASE("two communicators that are entered in different orders are a ring") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    add_communicator(add_dump(builder, rank), "0x2", rank);
    for (const std::uint32_t i : {0U, 1U}) {
      model::Operation& operation = add_stuck(builder, "AllReduce", 0, i == rank ? 1 : 2);
      if (i == 1) {
        operation.state = model::State::kEnqueued;
        operation.times_from = model::TimesFrom::kEnqueue;
        operation.start_ns = {};
      }
    }
  }
  CHECK(find(builder).cycle.size() == 2);
}

TEST_CASE("ranks differ where their arguments do, not in the sizes that they exchange") {
  constexpr std::uint32_t kRanks = 3;
  TraceBuilder exchange;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    add_dump(exchange, rank, kRanks);
    for (std::uint32_t peer = 0; peer < kRanks; ++peer) {
      for (const char* const func : {"Send", "Recv"}) {
        if (peer != rank) {
          model::Operation& one = exchange.add_transfer(func, peer);
          one.bytes = 1000 * (1 + (*func == 'S' ? rank : peer));
          one.group = 1;
          one.end_ns = {};
          one.state = model::State::kStarted;
          one.in_flight = true;
        }
      }
    }
  }
  const metrics::Hang of_exchange = find(exchange);
  REQUIRE(of_exchange.operations.size() == 1);
  CHECK(of_exchange.matched(of_exchange.operations[0]).way == match::Way::kGroup);
  CHECK(of_exchange.operations[0].differs == match::Difference::kNone);

  TraceBuilder reduce;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    add_dump(reduce, rank);
    add_stuck(reduce, "AllReduce", 0).bytes = 1000 + rank;
  }
  const metrics::Hang of_reduce = find(reduce);
  REQUIRE(of_reduce.operations.size() == 1);
  CHECK(of_reduce.operations[0].differs == match::Difference::kBytes);
}

TEST_CASE("what a later operation has overtaken, is young, or only enqueued is not stuck") {
  TraceBuilder builder;
  add_dump(builder, 0);
  model::Operation& operation = add_stuck(builder, "AllReduce", 0);
  const model::Operation stuck = operation;
  CHECK(find(builder).operations.size() == 1);
  CHECK(find(builder, 31 * kSecond_ns).operations.empty());
  CHECK(find(builder, 31 * kSecond_ns).too_young.at(0) == 1);

  builder.operations(0)[0].state = model::State::kEnqueued;
  CHECK(find(builder).operations.empty());
  CHECK(find(builder).enqueued_only.at(0) == 1);
  builder.operations(0)[0].enqueue_end_ns = {};  // the call has not returned: that is seen
  CHECK(find(builder).operations.size() == 1);

  // Its thread has called again, so only the record of the return is lost.
  builder.operations(0)[0].tid = 7;
  model::Operation& next = builder.add("AllReduce", 1);
  next.state = model::State::kEnqueued;
  next.tid = 8;
  CHECK(find(builder).operations.size() == 1);
  builder.operations(0)[1].tid = 7;
  CHECK(find(builder).operations.empty());
  builder.operations(0).pop_back();

  builder.operations(0)[0] = stuck;
  builder.operations(0)[0].kind = model::Kind::kApi;
  CHECK(find(builder).operations.empty());

  builder.operations(0)[0] = stuck;
  builder.add("AllReduce", 1);
  CHECK(find(builder).operations.empty());
  // Calls of one group run together: the one that has ended has not overtaken the other.
  for (model::Operation& one : builder.operations(0)) {
    one.group = 7;
  }
  CHECK(find(builder).operations.size() == 1);
}

TEST_CASE("of several files of one run the latest counts") {
  TraceBuilder builder;
  add_dump(builder, 0);
  add_stuck(builder, "AllReduce", 0);
  model::TraceFile& later = add_dump(builder, 0);
  builder.add("AllReduce", 0);
  later.process.run_id = builder.traces().files[0].process.run_id;
  later.last_ns = 40 * kSecond_ns;
  CHECK(metrics::keep_latest_files(builder.traces()).size() == 1);
  REQUIRE(builder.traces().files.size() == 1);
  CHECK(find(builder).operations.empty());
}

TEST_CASE("absurd times neither overflow nor stop it") {
  TraceBuilder builder;
  add_dump(builder, 0).last_ns = std::numeric_limits<std::int64_t>::max();
  add_stuck(builder, "AllReduce", 0).start_ns = 0;
  // One more would stand for an absent time.
  builder.operations(0)[0].enqueue_start_ns = std::numeric_limits<std::int64_t>::min() + 1;
  add_dump(builder, 1).last_ns = std::numeric_limits<std::int64_t>::min();
  const metrics::Hang hang = find(builder);
  REQUIRE(hang.operations.size() == 1);
  CHECK(hang.operations[0].waited_ns == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a defect of NCCL's release is named where all have joined, and only there") {
  const auto defects = [](const std::string& release, std::uint32_t joined,
                          std::uint32_t ranks = 64, const std::string& function = "AllReduce",
                          const char* gpu = nullptr) {
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      model::TraceFile& file = add_dump(builder, rank, ranks);
      file.process.nccl_version = release;
      if (gpu != nullptr) {
        file.machines[0].gpus.emplace_back().name = gpu;
      }
      if (rank < joined) {
        add_stuck(builder, function, 0);
      }
    }
    const metrics::Hang hang = find(builder);
    REQUIRE(hang.operations.size() == 1);
    return report::known_defects(builder.traces(), hang, hang.operations.front());
  };
  const auto found = defects("2.28.7", 64);
  REQUIRE(found.size() == 1);
  CHECK(found.front().find("NCCL 2.28.9 mends it") != std::string::npos);
  CHECK(defects("2.28.9", 64).empty());
  CHECK(defects("2.28.7", 63).empty());
  CHECK(defects("2.28.7", 63, 63).empty());
  CHECK(defects("2.26.2", 96, 96, "AlltoAll").size() == 2);
  CHECK(defects("2.26.5", 96, 96, "AlltoAll").size() == 1);
  CHECK(defects("2.29.2", 8, 8, "AllReduce", "NVIDIA GB200").size() == 1);
  CHECK(defects("2.29.3", 8, 8, "AllReduce", "NVIDIA GB200").empty());
  CHECK(defects("2.29.2", 8, 8, "AllReduce", "NVIDIA H200").empty());
  CHECK(defects("unknown", 64).empty());
}
