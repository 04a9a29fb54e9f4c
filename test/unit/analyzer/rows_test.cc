// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows.h"

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

std::vector<CommunicatorRows> rows_of(const model::Traces& traces) {
  return make_rows(traces, match::match_operations(traces));
}

TEST_CASE("the time of an operation is the least of its ranks'") {
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
  CHECK(*row.median_ns == approx(600));
  CHECK(*row.p99_ns == 700);
  CHECK(*row.bandwidth.algbw_gb_s == approx(1000.0 / 600));
}

TEST_CASE("the weakest source decides, and gives no bandwidth unless the execution was seen") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add("AllReduce", 0);
  builder.add_file(1);
  builder.add("AllReduce", 0).times_from = model::TimesFrom::kProxyQueue;
  const auto rows = rows_of(builder.traces());
  CHECK(rows[0].rows[0].times_from == model::TimesFrom::kProxyQueue);
  CHECK(rows[0].rows[0].median_ns);
  CHECK_FALSE(rows[0].rows[0].bandwidth.algbw_gb_s);
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
  CHECK_FALSE(rows[0].rows[0].median_ns);
}

}  // namespace
}  // namespace ringside::metrics
