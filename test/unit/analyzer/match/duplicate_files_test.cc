// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/duplicate_files.h"

#include <string>
#include <utility>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

// A dump of one operation and a trace of `operations`, both of the same run.
TraceBuilder dump_and_trace(int operations) {
  TraceBuilder builder;
  builder.add_file(0).process.dump = true;
  builder.add("AllReduce", 0);
  const std::string run_id = builder.traces().files[0].process.run_id;
  builder.add_file(0).process.run_id = run_id;
  for (int i = 0; i < operations; ++i) {
    builder.add("AllReduce", static_cast<std::uint64_t>(i));
  }
  return builder;
}

TEST_CASE("of a dump and its trace the trace counts, unless it lacks operations") {
  const auto [operations, trace_counts] =
      GENERATE(std::pair(0, false), std::pair(1, true), std::pair(2, true));
  TraceBuilder builder = dump_and_trace(operations);
  const auto notes = remove_duplicate_files(builder.traces());
  REQUIRE(builder.traces().files.size() == 1);
  CHECK(builder.traces().files[0].process.dump != trace_counts);
  REQUIRE(notes.size() == 1);
}

TEST_CASE("a file that profiles were joined with counts, whatever the other has") {
  TraceBuilder builder = dump_and_trace(2);
  REQUIRE(remove_duplicate_files(builder.traces(), {0}).size() == 1);
  REQUIRE(builder.traces().files.size() == 1);
  CHECK(builder.traces().files[0].process.dump);
}

TEST_CASE("files of different runs are all kept") {
  TraceBuilder builder;
  builder.add_file(0);
  builder.add_file(1);
  builder.add_file(1).process.run_id.clear();
  builder.add_file(1).process.run_id.clear();
  CHECK(remove_duplicate_files(builder.traces()).empty());
  CHECK(builder.traces().files.size() == 4);
}

}  // namespace
}  // namespace ringside::match
