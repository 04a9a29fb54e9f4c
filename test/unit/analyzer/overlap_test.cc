// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap.h"

#include <limits>
#include <string>

#include "analyzer/metrics/timing.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

Overlap overlap_of(TraceBuilder& builder, const align::Alignment& alignment) {
  const model::Traces& traces = builder.traces();
  return find_overlap(traces, match::match_operations(traces), alignment);
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

TEST_CASE("within a host waiting is as exact as its stamps") {
  TraceBuilder builder = late_by_five(3, false);
  const Overlap overlap = overlap_of(builder);
  REQUIRE(overlap.ranks.size() == 3);
  CHECK(overlap.ranks[0].waiting_ns == 8 * 5'000);
  CHECK(overlap.ranks[2].waiting_ns == 0);
  for (const RankOverlap& rank : overlap.ranks) {
    CHECK(rank.waiting_uncertainty_ns == 8 * kStampNoise_ns);
    CHECK(rank.waiting_known == 8);
    CHECK(rank.waiting_unknown == 0);
  }
}

TEST_CASE("between hosts waiting has the uncertainty of their clocks") {
  TraceBuilder builder = late_by_five(2, true);
  const auto alignment = align::Alignment::estimate(builder.traces());
  const Overlap overlap = overlap_of(builder, alignment);
  const auto uncertainty_ns = alignment.uncertainty_ns(0, 1, alignment.to_common_ns(0, 1'000'000));
  REQUIRE(uncertainty_ns);
  REQUIRE(*uncertainty_ns > 5'000);
  std::int64_t waited_ns = 0;
  for (const RankOverlap& rank : overlap.ranks) {
    waited_ns += rank.waiting_ns;
    CHECK(rank.waiting_known == 8);
    // One rank may have waited longer by all that the clocks leave open, or for the other one.
    CHECK(rank.waiting_uncertainty_ns > 8 * kStampNoise_ns);
    CHECK(rank.waiting_uncertainty_ns <= 8 * (kStampNoise_ns + 2 * *uncertainty_ns));
  }
  CHECK(overlap.ranks[0].waiting_ns + overlap.ranks[0].waiting_uncertainty_ns >= 8 * 5'000);
  CHECK(waited_ns >= 0);
}

TEST_CASE("where clocks or ranks are not known, waiting is not known") {
  TraceBuilder builder = late_by_five(2, true);
  const auto no_clocks = overlap_of(builder, align::Alignment::none(builder.traces()));
  for (const RankOverlap& rank : no_clocks.ranks) {
    CHECK(rank.waiting_known == 0);
    CHECK(rank.waiting_unknown == 8);
    CHECK(rank.waiting_ns == 0);
  }
  TraceBuilder absent = late_by_five(3, false);
  absent.traces().files.pop_back();
  CHECK(overlap_of(absent).ranks[0].waiting_unknown == 8);
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
