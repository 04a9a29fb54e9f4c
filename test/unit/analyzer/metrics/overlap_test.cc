// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap/overlap.h"

#include <limits>
#include <string>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

Overlap overlap_of(TraceBuilder& builder, const align::Alignment& alignment) {
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  return find_overlap(facts::Facts(traces, matches, alignment));
}

Overlap overlap_of(TraceBuilder& builder) {
  return overlap_of(builder, align::Alignment::estimate(builder.traces()));
}

// Eight AllReduce, to each of which the last rank comes 5 us late.
TraceBuilder late_by_five(std::uint32_t ranks, bool has_hosts) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", ranks);
    if (has_hosts) {
      file.process.host = "node" + std::to_string(rank);
    }
    for (std::uint64_t seq = 0; seq < 8; ++seq) {
      model::Operation& one = builder.add("AllReduce", seq);
      const auto begin_ns = static_cast<std::int64_t>(1'000'000 + 100'000 * seq);
      one.enqueue_start_ns = begin_ns;
      one.start_ns = begin_ns + (rank + 1 == ranks ? 5'000 : 0);
      one.end_ns = begin_ns + 20'000;
    }
  }
  return builder;
}

// Each rank but the last waits 5 us in each of the eight, and is there for 20 us.
constexpr std::int64_t kWaited_ns = 8 * 5'000;
constexpr std::int64_t kRan_ns = 8 * 20'000;

TEST_CASE("within a host the bounds of waiting hold what was waited") {
  TraceBuilder builder = late_by_five(3, false);
  const Overlap overlap = overlap_of(builder);
  REQUIRE(overlap.ranks.size() == 3);
  CHECK(overlap.ranks[0].waiting_ns == kWaited_ns);
  CHECK(overlap.ranks[2].waiting_ns == 0);
  for (const RankOverlap& rank : overlap.ranks) {
    const std::int64_t truth_ns = &rank == &overlap.ranks[2] ? 0 : kWaited_ns;
    CHECK(rank.waiting_least_ns <= truth_ns);
    CHECK(rank.waiting_most_ns >= truth_ns);
    CHECK(rank.waiting_most_ns < kRan_ns);
    CHECK(rank.waiting_unknown == 0);
  }
}

TEST_CASE("between hosts the bounds of waiting hold what was waited, too") {
  TraceBuilder builder = late_by_five(2, true);
  const auto alignment = align::Alignment::estimate(builder.traces());
  const auto uncertainty_ns = alignment.uncertainty_ns(0, 1, alignment.to_common_ns(0, 1'000'000));
  REQUIRE(uncertainty_ns);
  REQUIRE(*uncertainty_ns > 5'000);
  const Overlap overlap = overlap_of(builder, alignment);
  CHECK(overlap.ranks[0].waiting_least_ns <= kWaited_ns);
  CHECK(overlap.ranks[0].waiting_most_ns >= kWaited_ns);
  CHECK(overlap.ranks[1].waiting_least_ns == 0);
}

TEST_CASE("where clocks or ranks are not known, all of the time may be waiting") {
  TraceBuilder builder = late_by_five(2, true);
  const auto no_clocks = overlap_of(builder, align::Alignment::none(builder.traces()));
  TraceBuilder absent = late_by_five(3, false);
  absent.traces().files.pop_back();
  const auto no_trace = overlap_of(absent);
  // Each of eight walls is known to the step of the GPU's timer, 1 us.
  CHECK(no_clocks.ranks[0].waiting_most_ns == kRan_ns + 8'000);
  CHECK(no_trace.ranks[0].waiting_most_ns == kRan_ns + 8'000);
  for (const Overlap* const overlap : {&no_clocks, &no_trace}) {
    CHECK(overlap->ranks[0].waiting_least_ns == 0);
    CHECK_FALSE(overlap->ranks[0].knows_waiting());
  }
}

TEST_CASE("waits that late stamps put beside each other count both") {
  // Two communicators on one stream, each of which two ranks share. Rank 1 comes 50 us late to
  // both: rank 0 waits from 0 to 50 us, and from 60 to 110 us. The kernels of the second one always
  // start 60 us after their call, so their stamps may be late by as much.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank);
    file.contexts[2] = file.contexts[1];
    file.contexts[2].comm = "0x2";
    for (std::uint64_t seq = 0; seq < 8; ++seq) {
      const auto begin_ns = static_cast<std::int64_t>(1'000'000 + 1'000'000 * seq);
      for (const std::uint32_t context : {1U, 2U}) {
        model::Operation& one = builder.add("AllReduce", seq);
        one.context = context;
        one.enqueue_start_ns = begin_ns;
        one.start_ns = begin_ns + (context == 2 ? 60'000 : 0) + (rank == 1 ? 50'000 : 0);
        one.end_ns = begin_ns + (context == 2 ? 111'000 : 51'000);
      }
    }
    file.contexts[1].operations = file.contexts[2].operations = 8;
  }
  const Overlap overlap = overlap_of(builder);
  CHECK(overlap.ranks[0].waiting_most_ns >= 8 * 100'000);
  // It is no more than there is from the first arrival to the last end, and the timer's step.
  CHECK(overlap.ranks[0].waiting_most_ns <= 8 * 112'000);
}

TEST_CASE("absurd times of operations do not overflow their sums") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 20; ++seq) {
      model::Operation& one = builder.add("AllReduce", seq);
      one.start_ns = std::numeric_limits<std::int64_t>::min() + 1;
      one.end_ns = std::numeric_limits<std::int64_t>::max();
    }
  }
  const Overlap overlap = overlap_of(builder);
  CHECK(overlap.ranks[0].summed_ns == std::numeric_limits<std::int64_t>::max());
  CHECK(overlap.ranks[0].busy_ns > 0);
}

}  // namespace
}  // namespace ringside::metrics
