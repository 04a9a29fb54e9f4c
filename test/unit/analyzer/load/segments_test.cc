// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/segments.h"

#include "analyzer/load/trace_loader.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside {
namespace {

// A part of run 0xa with one operation.
void add_part(TraceBuilder& builder, std::uint64_t segment, std::optional<std::uint64_t> next) {
  model::TraceFile& file = builder.add_file(0);
  builder.add("AllReduce", segment);
  file.process.run_id = "0xa";
  file.process.segment = segment;
  file.next_segment = next;
  file.path = "s" + std::to_string(segment);
  file.account.produced = 100 * segment;
  file.operations_written = 1;
}

}  // namespace

TEST_CASE("segments of a run are one trace, in their order, with the last account") {
  TraceBuilder builder;
  add_part(builder, 4, std::nullopt);
  add_part(builder, 2, 3);
  add_part(builder, 3, 4);
  builder.add_file(1);
  load::join_segments(builder.traces());
  REQUIRE(builder.traces().files.size() == 2);
  const model::TraceFile& whole = builder.traces().files[0];
  CHECK(whole.path == "s2");
  CHECK(whole.segments == 3);
  CHECK(whole.segments_missing == 0);
  CHECK_FALSE(whole.next_segment);
  CHECK(whole.account.produced == 400);
  CHECK(whole.operations_written == 3);
  REQUIRE(whole.operations.size() == 3);
  CHECK(whole.operations[2].seq == 4);
  CHECK(whole.contexts.at(1).operations == 3);
}

TEST_CASE("segments that were loaded apart, with names of their own, are joined likewise") {
  std::vector<load::LoadedTrace> loaded(3);
  for (const std::uint64_t segment : {2U, 1U}) {
    TraceBuilder builder;
    builder.traces().names.id("name of segment " + std::to_string(segment));
    add_part(builder, segment, segment == 1 ? std::optional<std::uint64_t>(2) : std::nullopt);
    model::Mark& mark = builder.traces().files[0].marks[segment];
    mark.name = builder.traces().names.id("mark of segment " + std::to_string(segment));
    loaded[2 - segment].traces = std::move(builder.traces());
  }
  TraceBuilder other;
  other.add_file(1);
  loaded[2].traces = std::move(other.traces());
  load::join_segments(loaded);
  CHECK(loaded[0].traces.files.empty());
  CHECK(loaded[2].traces.files.size() == 1);
  const model::Traces& traces = loaded[1].traces;
  REQUIRE(traces.files.size() == 1);
  const model::TraceFile& whole = traces.files[0];
  CHECK(whole.path == "s1");
  CHECK(whole.segments == 2);
  REQUIRE(whole.operations.size() == 2);
  CHECK(whole.operations[1].seq == 2);
  CHECK(traces.names.text(whole.operations[1].func) == "AllReduce");
  CHECK(traces.names.text(whole.marks.at(2).name) == "mark of segment 2");
}

TEST_CASE("missing segments are counted") {
  TraceBuilder builder;
  add_part(builder, 1, 2);
  add_part(builder, 4, 5);
  add_part(builder, 6, 7);
  load::join_segments(builder.traces());
  REQUIRE(builder.traces().files.size() == 1);
  CHECK(builder.traces().files[0].segments == 3);
  CHECK(builder.traces().files[0].segments_missing == 3);
  CHECK(builder.traces().files[0].next_segment == 7);
}

TEST_CASE("dumps, whole traces and a second file of the same segment are not joined") {
  TraceBuilder builder;
  add_part(builder, 2, 3);
  add_part(builder, 2, 3);
  add_part(builder, 1, std::nullopt);
  add_part(builder, 3, std::nullopt);
  builder.traces().files.back().process.dump = true;
  load::join_segments(builder.traces());
  CHECK(builder.traces().files.size() == 4);
}

}  // namespace ringside
