// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap/overlap.h"

#include <limits>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

Overlap overlap_of(TraceBuilder& builder) {
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::estimate(traces);
  return find_overlap(facts::Facts(traces, matches, alignment));
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
