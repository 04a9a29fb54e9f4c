// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/timing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/stragglers.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// One AllReduce of three ranks that start at the given times and end at 9 us.
model::Traces starting_at(std::int64_t first_ns, std::int64_t second_ns, std::int64_t third_ns) {
  TraceBuilder builder;
  std::uint32_t rank = 0;
  for (const std::int64_t start_ns : {first_ns, second_ns, third_ns}) {
    builder.add_file(rank++, "0x1", 3);
    model::Operation& one = builder.add("AllReduce", 0);
    one.start_ns = start_ns;
    one.end_ns = std::max<std::int64_t>(start_ns, 9'000);
  }
  return std::move(builder.traces());
}

std::optional<Timing> timing_in(const model::Traces& traces) {
  const match::Matches matches = match::match_operations(traces);
  REQUIRE(matches.operations.size() == 1);
  return timing_of(traces, matches, align::Alignment::estimate(traces), matches.operations[0]);
}

TEST_CASE("ranks are in the order of their arrival, and wait for the last") {
  const auto timing = timing_in(starting_at(3'000, 8'000, 1'000));
  REQUIRE(timing);
  REQUIRE(timing->arrivals.size() == 3);
  CHECK(timing->last_start_ns() - timing->first_start_ns() == 7'000);
  CHECK(timing->margin_ns() == 5'000);
  CHECK(timing->waited_ns() == 5'000 + 7'000);
  CHECK(timing->busy_ns() == 1'000);
  CHECK(timing->is_decided());
  CHECK_FALSE(timing->is_impossible);
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
  const auto timing = timing_in(builder.traces());
  REQUIRE(timing);
  REQUIRE(timing->arrivals.size() == 3);
  for (const Arrival& arrival : timing->arrivals) {
    CHECK(*arrival.end_ns - arrival.start_ns == 4'000);
  }
  CHECK(timing->margin_ns() == 4'000);
}

TEST_CASE("absurd stamps do not overflow, and are not trusted") {
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
  const auto timing = timing_of(traces, matches, alignment, matches.operations[0]);
  REQUIRE(timing);
  CHECK(timing->waited_ns() == kMost);
  CHECK(timing->is_impossible);
  const Stragglers stragglers = find_stragglers(traces, matches, alignment);
  CHECK(stragglers.impossible == 4);
  CHECK(stragglers.waited_ns == 0);
}

}  // namespace
}  // namespace ringside::metrics
