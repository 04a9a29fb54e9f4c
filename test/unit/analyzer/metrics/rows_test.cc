// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/rows.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

std::vector<CommunicatorRows> rows_of(const model::Traces& traces,
                                      const align::Alignment& alignment) {
  const match::Matches matches = match::match_operations(traces);
  return make_rows(facts::Facts(traces, matches, alignment));
}

std::vector<CommunicatorRows> rows_of(const model::Traces& traces) {
  return rows_of(traces, align::Alignment::estimate(traces));
}

TEST_CASE("the time of an operation is the shortest of a rank") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0, rank == 0 ? 900 : 500);
    builder.add("AllReduce", 1, rank == 0 ? 700 : 1100);
  }
  const auto rows = rows_of(builder.traces());
  REQUIRE(rows[0].rows.size() == 1);
  const Row& row = rows[0].rows[0];
  CHECK(row.count == 2);
  CHECK(row.busy->median.best == Approx(600));
  CHECK(row.busy->p99.best == 700);
  CHECK(row.wall->min.best == 500);
  CHECK(row.wall->max.best == 1100);
  CHECK(row.wait->max.best == 400);  // of 900 and 500 ns
  CHECK(row.on_some_ranks == 0);
  CHECK(row.algbw_gb_s->best == Approx(1000.0 / 600));
}

TEST_CASE("rows and who is late come of one reading, in which each operation comes once") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    builder.add_file(rank, "0x1", 3);
    for (std::uint64_t seq = 0; seq < 300; ++seq) {
      model::Operation& one = builder.add(seq % 2 == 0 ? "AllReduce" : "AllGather", seq / 2);
      const auto at_ns = static_cast<std::int64_t>(seq * 100'000);
      one.start_ns = at_ns + std::int64_t{rank} * 10'000;
      one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns;
      one.end_ns = at_ns + 50'000 + static_cast<std::int64_t>(seq % 7);
    }
  }
  builder.add_file(0, "0x2", 1);
  builder.add("AllReduce", 0);  // nobody can be late for it
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::estimate(traces);
  const facts::Facts facts(traces, matches, alignment);
  std::vector<std::atomic<int>> came(matches.operations.size());
  const auto rows =
      make_rows(facts, RowsBy::kKind,
                [&](std::size_t, const facts::SeenOperation& seen) { ++came[seen.index]; });
  REQUIRE(came.size() == 301);
  CHECK(std::all_of(came.begin(), came.end(), [](const auto& times) { return times == 1; }));
  const auto rows_alone = make_rows(facts);
  REQUIRE(rows.size() == rows_alone.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(rows[i].rows.size() == rows_alone[i].rows.size());
    for (std::size_t k = 0; k < rows[i].rows.size(); ++k) {
      CHECK(rows[i].rows[k].count == rows_alone[i].rows[k].count);
      CHECK(rows[i].rows[k].waited_ns == rows_alone[i].rows[k].waited_ns);
      REQUIRE(rows[i].rows[k].wall.has_value());
      CHECK(rows[i].rows[k].wall->p90.best == Approx(rows_alone[i].rows[k].wall->p90.best));
    }
  }
}

TEST_CASE("the time of an operation needs no common clock") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank).process.host = "node" + std::to_string(rank);
    builder.add("AllReduce", 0, rank == 0 ? 900'000 : 500'000);
  }
  const auto rows = rows_of(builder.traces(), align::Alignment::none(builder.traces()));
  const Row& row = rows[0].rows[0];
  // Each wall is known to the step of the GPU's timer, 1 us.
  CHECK(row.busy->median.least == 499'000);
  CHECK(row.busy->median.most == 501'000);
  CHECK_FALSE(row.busy->median.is_vague());
  // The one that was in it longer waited for the other, as well as four stamps show it.
  CHECK(row.wait->max.most == 402'000);
  CHECK(row.wait->max.least == 398'000);
}

TEST_CASE("unbroken repeats take a turn each, as nccl-tests counts them") {
  constexpr std::int64_t kTurn_ns = 120'000;
  constexpr std::int64_t kData_ns = 100'000;
  const auto row_of = [&](std::int64_t between_calls_ns, std::int64_t data_ns) {
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      builder.add_file(rank);
      for (std::int64_t i = 0; i < 10; ++i) {
        model::Operation& one = builder.add("AllReduce", static_cast<std::uint64_t>(i));
        one.enqueue_start_ns = 1'000'000 + i * between_calls_ns;
        one.enqueue_end_ns = *one.enqueue_start_ns + 1'000;
        one.start_ns = 1'005'000 + i * kTurn_ns;
        one.end_ns = *one.start_ns + data_ns;
      }
    }
    return rows_of(builder.traces())[0].rows.at(0);
  };
  const Row repeats = row_of(2'000, kData_ns);
  CHECK(repeats.busy->median.best == (5'000 + 9 * kTurn_ns + kData_ns) / 10);
  CHECK(repeats.wall->median.best == repeats.busy->median.best);
  // Something was done between two calls, or for most of a turn.
  CHECK(row_of(50'000, kData_ns).busy->median.best == kData_ns);
  CHECK(row_of(2'000, kTurn_ns / 4).busy->median.best == kTurn_ns / 4);
}

TEST_CASE(
    "of a Broadcast the time is from the root's first data on, and the root's wall is in no row") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    builder.add_file(rank, "0x1", 3);
    model::Operation& one = builder.add("Broadcast", 0);
    one.root = 0;
    // The root comes last, and leaves when its data is in buffers.
    one.enqueue_start_ns = one.start_ns = rank == 0 ? 1'050'000 : 1'000'000;
    one.end_ns = rank == 0 ? 1'060'000 : 1'150'000;
  }
  const auto rows = rows_of(builder.traces());
  const Row& row = rows[0].rows.at(0);
  CHECK(row.busy->median.best == 100'000);
  CHECK(row.wall->min.best == 150'000);
  CHECK(row.wait->max.best <= 50'000);
}

TEST_CASE("absurd times do not overflow") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto check = [&](TraceBuilder& builder) {
    const auto rows = rows_of(builder.traces());
    REQUIRE(rows[0].rows.size() == 1);
    const Row& row = rows[0].rows[0];
    REQUIRE(row.wall);
    CHECK(row.wall->max.best == static_cast<double>(kMost));
    CHECK((!row.busy || row.busy->max.most <= static_cast<double>(kMost)));
  };
  TraceBuilder builder;
  SECTION("of a rank by itself") {
    builder.add_file(0, "0x1", 1);
    model::Operation& one = builder.add("AllReduce", 0);
    one.start_ns = kLeast + 1;  // kLeast stands for an absent time
    one.end_ns = kMost;
    check(builder);
  }
  SECTION("of a group, in the least over its ranks") {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      builder.add_file(rank).process.host = "node" + std::to_string(rank);
      for (const char* const func : {"Send", "Recv"}) {
        model::Operation& one = builder.add_transfer(func, 1 - rank);
        one.group = 1;
        one.start_ns = kLeast + 1;
        one.end_ns = kMost;
      }
    }
    check(builder);
  }
}

TEST_CASE("what contradicts itself is in no time, and counted") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0, 700);
    // Rank 0 seems to end a second before rank 1 starts.
    model::Operation& operation = builder.add("AllReduce", 1, 700);
    operation.start_ns = *operation.start_ns + rank * 1'000'000'000;
    operation.end_ns = *operation.end_ns + rank * 1'000'000'000;
  }
  const auto rows = rows_of(builder.traces());
  CHECK(rows[0].rows[0].count == 2);
  CHECK(rows[0].rows[0].excluded == 1);
  CHECK(rows[0].rows[0].busy->max.best == 700);
}

TEST_CASE("a row rests on the ranks that were seen to run, and says so") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    builder.add_file(rank, "0x1", 3);
    model::Operation& one = builder.add("AllReduce", 0, 100'000);
    if (rank == 1) {
      one.times_from = model::TimesFrom::kEnqueue;
      one.state = model::State::kEnqueued;
    }
  }
  const auto rows = rows_of(builder.traces());
  const Row& row = rows[0].rows[0];
  CHECK(row.times_from == model::TimesFrom::kGpu);
  CHECK(row.on_some_ranks == 1);
  REQUIRE(row.busbw_gb_s);
  // 1000 bytes in 100 us, times 4/3; one rank came 2 us before the other.
  CHECK(row.busbw_gb_s->least <= 1000.0 / 100'000 * 4 / 3);
  CHECK(row.busbw_gb_s->most >= Approx(1000.0 / 100'000 * 4 / 3));
}

TEST_CASE("a place in a queue gives a time, but no bandwidth") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0).times_from = model::TimesFrom::kProxyQueue;
  }
  const auto rows = rows_of(builder.traces());
  CHECK(rows[0].rows[0].times_from == model::TimesFrom::kProxyQueue);
  CHECK(rows[0].rows[0].busy);
  CHECK_FALSE(rows[0].rows[0].algbw_gb_s);
}

TEST_CASE("only what finished, and on which the ranks agree, is in a row") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    builder.add("AllReduce", 0).bytes = 1000 + rank;
    model::Operation& started = builder.add("AllReduce", 1);
    started.state = model::State::kStarted;
    started.end_ns.reset();
    model::Operation& enqueued = builder.add("AllReduce", 2);
    enqueued.state = model::State::kEnqueued;
    enqueued.times_from = model::TimesFrom::kEnqueue;
    enqueued.start_ns.reset();
    enqueued.end_ns.reset();
  }
  const auto rows = rows_of(builder.traces());
  CHECK(rows[0].operations == 3);
  CHECK(rows[0].unfinished[static_cast<std::size_t>(model::State::kStarted)] == 1);
  CHECK(rows[0].verdicts[static_cast<std::size_t>(match::Verdict::kSizeMismatch)] == 1);
  REQUIRE(rows[0].rows.size() == 1);
  CHECK(rows[0].rows[0].times_from == model::TimesFrom::kEnqueue);
  CHECK_FALSE(rows[0].rows[0].busy);
}

TEST_CASE("counts of sampled traces are scaled by what each operation stands for") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank).process.sampling.coll_of = 16;
    builder.add("AllReduce", 8).sample_of = 16;
    builder.add("AllReduce", 23).sample_of = 16;
    builder.add("AllGather", 3);  // of a kind that was not sampled
  }
  auto rows = rows_of(builder.traces());
  REQUIRE(rows[0].rows.size() == 2);
  CHECK_FALSE(rows[0].rows[0].is_sampled);
  CHECK(rows[0].rows[0].count_scaled == Approx(1));
  CHECK(rows[0].rows[1].is_sampled);
  CHECK(rows[0].rows[1].count == 2);
  CHECK(rows[0].rows[1].count_scaled == Approx(32));
  for (model::TraceFile& file : builder.traces().files) {
    file.process.sampling.window_ns = 1;
    file.process.sampling.period_ns = 60;
  }
  rows = rows_of(builder.traces());
  CHECK(rows[0].rows[0].count_scaled == Approx(60));
  CHECK(rows[0].rows[1].count_scaled == Approx(1920));
}

}  // namespace
}  // namespace ringside::metrics
