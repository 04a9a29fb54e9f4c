// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/rank_times.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/model/saturating.h"
#include "analyzer/replay/run_replay.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::facts {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<RankTimes> rows_of_first(const model::Traces& traces) {
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  std::vector<RankTimes> rows;
  Facts(traces, matches, alignment).ranks_of(0, rows);
  return rows;
}

TEST_CASE("ranks are in the order of their arrival, and wait for the last") {
  TraceBuilder builder;
  std::uint32_t rank = 0;
  for (const std::int64_t start_ns : {300'000, 800'000, 100'000}) {
    builder.add_file(rank++, "0x1", 3);
    model::Operation& one = builder.add("AllReduce", 0);
    one.enqueue_start_ns = one.start_ns = start_ns;
    one.end_ns = 900'000;
  }
  const auto rows = rows_of_first(builder.traces());
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].member == 2);
  CHECK(rows[1].member == 0);
  CHECK(rows[2].member == 1);
  CHECK(rows[0].best_wait_ns == 700'000);
  CHECK(rows[1].best_wait_ns == 500'000);
  CHECK(rows[2].best_wait_ns == 0);
  CHECK(rows[0].waits_for == 2U);
}

TEST_CASE("a rank comes to a group with its first part, and goes with its last") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    builder.add_file(rank, "0x1", 3);
    for (std::uint32_t peer = 0; peer < 3; ++peer) {
      for (const char* const func : {"Send", "Recv"}) {
        if (peer != rank) {
          builder.add_transfer(func, peer).group = 1;
        }
      }
    }
  }
  // Four calls of each rank, a microsecond apart, each of a microsecond.
  const auto rows = rows_of_first(builder.traces());
  REQUIRE(rows.size() == 3);
  for (const RankTimes& row : rows) {
    CHECK(row.wall_ns() == 4'000);
  }
}

TEST_CASE("absurd stamps do not overflow, and nobody is blamed for them") {
  CHECK(add_saturating(kMost, 1) == kMost);
  CHECK(add_saturating(kLeast, -1) == kLeast);
  CHECK(subtract_saturating(0, kLeast) == kMost);
  CHECK(subtract_saturating(-2, kMost) == kLeast);
  CHECK(multiply_saturating(kMost, 2) == kMost);
  CHECK(multiply_saturating(kMost, -2) == kLeast);
  CHECK(multiply_saturating(3, -2) == -6);

  TraceBuilder builder;
  constexpr std::uint32_t kRanks = 12;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    builder.add_file(rank, "0x1", kRanks);
    for (std::uint64_t seq = 0; seq < 4; ++seq) {
      model::Operation& one = builder.add("AllReduce", seq);
      one.start_ns = rank + 1 == kRanks ? kMost : kLeast + 1;  // kLeast stands for an absent time
      one.end_ns = kMost;
    }
  }
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Facts facts(traces, matches, alignment);
  CHECK(replay::find_replays(facts).runs.empty());
}

}  // namespace
}  // namespace ringside::facts
