// SPDX-License-Identifier: Apache-2.0
//
// The contents of the report's page: shares of time, the map of late ranks, health, bars.
#include <string>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/plot.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::report {
namespace {

// All that is made of some traces.
struct Made {
  explicit Made(model::Traces given)
      : traces(std::move(given)),
        alignment(align::Alignment::estimate(traces)),
        matches(match::match_operations(traces)),
        facts(traces, matches, alignment),
        summary(make_summary(facts, problems, {})) {}

  PageData page() const { return make_page_data(facts, problems, {}); }

  model::Traces traces;
  model::Problems problems;
  align::Alignment alignment;
  match::Matches matches;
  facts::Facts facts;
  Summary summary;
};

// Each is called 2 us before it starts, so its stamps may be late by that.
constexpr std::int64_t kLaunch_ns = 2'000;

model::Traces two_ranks(std::int64_t first_start_ns, std::int64_t second_start_ns,
                        std::int64_t end_ns, std::uint64_t operations = 1) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < operations; ++seq) {
      const auto begin_ns = static_cast<std::int64_t>(100'000 * seq);
      model::Operation& one = builder.add("AllReduce", seq);
      one.start_ns = begin_ns + (rank == 0 ? first_start_ns : second_start_ns);
      one.enqueue_start_ns = *one.start_ns - kLaunch_ns;
      one.enqueue_end_ns = *one.start_ns - 1'500;
      one.end_ns = begin_ns + end_ns;
    }
  }
  return std::move(builder.traces());
}

TEST_CASE("every moment of a rank is transfer, waiting, enqueued or outside") {
  const Made made(two_ranks(3'000, 13'000, 20'000, 2));
  const auto shares = made.page().shares.ranks;
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].label == "rank 0");
  CHECK(shares[0].enqueued_ns == 2 * 2'000);
  // It waited 10 us each time.
  CHECK(shares[0].waiting_ns == 2 * 10'000);
  CHECK(shares[0].transfer_ns == 2 * 7'000);
  CHECK(shares[0].outside_ns == 100'000 + 1'000 - 20'000);
  CHECK(shares[0].span_ns == 100'000 + 20'000 - 1'000);
  CHECK(shares[1].enqueued_ns == 2 * 2'000);
  CHECK(shares[1].waiting_ns == 0);
  CHECK(shares[1].transfer_ns == 2 * 7'000);
}

TEST_CASE("where a rank is absent, waiting is not known") {
  model::Traces traces = two_ranks(3'000, 13'000, 20'000);
  for (model::TraceFile& file : traces.files) {
    file.contexts[1].nranks = 3;
  }
  CHECK(Made(two_ranks(3'000, 13'000, 20'000)).page().knows_waits());
  CHECK_FALSE(Made(std::move(traces)).page().knows_waits());
}

TEST_CASE("the map of waiting holds all that others waited, by iteration or by time") {
  for (const std::uint64_t operations : {5U, 400U}) {
    const Made made(two_ranks(3'000, 13'000, 20'000, operations));
    const PageData page = made.page();
    REQUIRE(page.wait_maps.size() == 1);
    const WaitMap& map = page.wait_maps[0];
    CHECK(map.has_iterations == (operations > 5));
    CHECK(map.ranks == 2);
    CHECK(map.columns.size() <= kMapColumns);
    REQUIRE(map.rows.size() == 1);
    CHECK(map.rows[0].label == "rank 1");
    // The first operation of a rank counts nowhere.
    CHECK(map.rows[0].others_waited_ns == static_cast<std::int64_t>(10'000 * (operations - 1)));
    std::int64_t sum_ns = 0;
    for (const std::int64_t cell_ns : map.rows[0].cells_ns) {
      sum_ns += cell_ns;
    }
    CHECK(sum_ns == map.rows[0].others_waited_ns);
    if (map.has_iterations) {
      CHECK(map.columns.back().last == operations);
      CHECK(map.columns[0].duration_ns == 7 * 100'000);
    }
  }
}

TEST_CASE("a late rank is the headline; nothing is healthy of which little is known") {
  model::Traces behind = two_ranks(3'000, 13'000, 20'000, 40);
  for (std::size_t i = 0; i < behind.files[1].operations.size(); ++i) {
    // It calls late: else its GPU's stamps could be as late as they are behind its calls.
    model::Operation one = behind.files[1].operations[i];
    one.enqueue_start_ns = *one.start_ns - 1'000;
    behind.files[1].operations.set(i, one);
  }
  const Made late(std::move(behind));
  const std::string json = page_json(late.page());
  CHECK(json.find("\"headline\": \"Rank 1 slows") != std::string::npos);
  CHECK(json.find("\"status\": \"error\"") != std::string::npos);
  model::Traces open = two_ranks(3'000, 3'000, 20'000);
  open.files[0].closed = false;
  const std::string unknown = page_json(Made(std::move(open)).page());
  CHECK(unknown.find("\"status\": \"unknown\"") != std::string::npos);
  const std::string empty = page_json(Made(model::Traces()).page());
  CHECK(empty.find("\"headline\": \"No operation was recorded\"") != std::string::npos);
}

TEST_CASE("a chance is shown as a bound that it is below, never as zeros") {
  CHECK(chance_text(0.000299) == "p < 0.0003");
  CHECK(chance_text(0.0014) == "p < 0.002");
  CHECK(chance_text(0.97) == "p < 1");
  CHECK(chance_text(3.2e-7) == "p < 4e-7");
  CHECK(chance_text(1e-12) == "p < 1e-9");
  CHECK(chance_text(0) == "p < 1e-9");
}

TEST_CASE("integers that JavaScript cannot hold are text") {
  JsonWriter json;
  json.begin_row();
  write_integer(json, std::int64_t{1} << 53);
  write_integer(json, (std::int64_t{1} << 53) + 1);
  write_integer(json, -((std::int64_t{1} << 53) + 1));
  json.end_row();
  CHECK(json.finish() == "[9007199254740992, \"9007199254740993\", \"-9007199254740993\"]\n");
}

TEST_CASE("bars are to scale, to an eighth of a column") {
  Summary summary;
  summary.communicators.emplace_back().name = "world\x1b";
  metrics::CommunicatorRows& rows = summary.rows.emplace_back();
  for (const double busbw_gb_s : {16.0, 8.0, 0.001}) {
    metrics::Row& row = rows.rows.emplace_back();
    row.function = "AllReduce";
    row.bytes = 1024;
    row.busbw_gb_s = metrics::Figure{busbw_gb_s, busbw_gb_s, busbw_gb_s};
  }
  const std::string plot = bandwidth_plot(summary, 48, true);
  const auto blocks = [](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += "\u2588";
    }
    return text;
  };
  CHECK(plot.find("world?, AllReduce\n") != std::string::npos);
  CHECK(plot.find(' ' + blocks(16) + " 16.00\n") != std::string::npos);
  CHECK(plot.find(' ' + blocks(8) + " 8.00\n") != std::string::npos);
  CHECK(plot.find(" \u258f <0.01\n") != std::string::npos);
  CHECK(bandwidth_plot(summary, 48, false).find(" ################ 16.00\n") != std::string::npos);
}

}  // namespace
}  // namespace ringside::report
