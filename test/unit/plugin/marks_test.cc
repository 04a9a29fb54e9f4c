// SPDX-License-Identifier: Apache-2.0
//
// Marks and ranges of the application, among NCCL's calls on the same threads.
#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using assemble::Mark;
using record::EventId;
using record::EventType;
using test::kMillisecond;
using test::Script;

namespace {

std::vector<Mark> ended(const Script& script) {
  std::vector<Mark> found;
  for (const Mark& mark : script.sink.marks) {
    if (mark.is_range && mark.end_ns != assemble::kUnknownTime && !mark.in_flight) {
      found.push_back(mark);
    }
  }
  return found;
}

std::uint64_t ranges_in(const assemble::TypeCounts& counts) {
  return counts[static_cast<std::size_t>(EventType::kRange)];
}

}  // namespace

TEST_CASE("ranges nest, and calls lie within them") {
  Script script;
  const EventId step = script.push("step");
  const EventId forward = script.push("forward");
  const auto coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  script.stop(forward);
  script.stop(step);
  const auto ranges = ended(script);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].text == "forward");
  CHECK(ranges[0].source == "train.py:17");
  CHECK(ranges[0].id == assemble::row_id(forward));
  CHECK(ranges[0].nests);
  CHECK(ranges[1].text == "step");
  CHECK(ranges[1].id == assemble::row_id(step));
  REQUIRE(script.sink.calls.size() == 1);
  const assemble::Call& call = script.sink.calls[0];
  CHECK(call.nests);
  CHECK(ranges[1].start_ns < ranges[0].start_ns);
  CHECK(ranges[0].start_ns < call.start_ns);
  CHECK(call.end_ns < ranges[0].end_ns);
  CHECK(ranges[0].end_ns < ranges[1].end_ns);
}

TEST_CASE("a range that ends within a group that began in it is no slice of the thread") {
  Script script;
  const EventId crossed = script.push("crossed");
  const auto group = script.start(EventType::kGroup, 0);
  script.stop(crossed);
  script.stop(group);
  REQUIRE(ended(script).size() == 1);
  CHECK_FALSE(ended(script)[0].nests);
  REQUIRE(script.sink.calls.size() == 1);
  CHECK(script.sink.calls[0].nests);
}

TEST_CASE("a range is shown when it begins, and counted when it ends; a mark at once") {
  Script script;
  const EventId range = script.push("here");
  REQUIRE(script.sink.marks.size() == 1);
  CHECK(script.sink.marks[0].end_ns == assemble::kUnknownTime);
  CHECK(script.sink.starts == 0);
  script.mark(EventType::kMark, "moment");
  REQUIRE(script.sink.marks.size() == 2);
  CHECK_FALSE(script.sink.marks[1].is_range);
  CHECK(script.sink.marks[1].text == "moment");
  CHECK(script.sink.starts == 1);
  script.stop(range);
  CHECK(script.sink.starts == 2);
  CHECK(script.sink.joined == 1);
}

TEST_CASE("ranges that are open are shown in flight, inner ones within outer ones") {
  Script script;
  script.push("outer");
  script.push("inner");
  test::CollectingSink dump;
  script.assembler.write_in_flight(dump, script.now += kMillisecond);
  REQUIRE(dump.marks.size() == 2);
  CHECK(dump.marks[0].text == "outer");
  CHECK(dump.marks[0].in_flight);
  CHECK(dump.marks[1].end_ns < dump.marks[0].end_ns);
  script.assembler.close(script.now += kMillisecond);
  CHECK(script.sink.marks.size() == 4);
  CHECK(script.sink.starts == 2);
}

TEST_CASE("ranges that are never ended do not pile up, and are not evicted for others") {
  Script script(6, false, {.events = 10'000});
  std::vector<EventId> begun;
  for (int i = 0; i < 5000; ++i) {
    begun.push_back(script.push("leaked"));
  }
  CHECK(script.assembler.held_events() == assemble::UserMarks::kMostOpen);
  CHECK(ranges_in(script.assembler.counts().dropped_memory) == 5000 - 4096);
  for (int i = 0; i < 20'000; ++i) {
    script.start(EventType::kNetPlugin, 0);  // and never a stop
  }
  CHECK(ranges_in(script.assembler.counts().given_up) == 0);
  for (auto id = begun.rbegin(); id != begun.rend(); ++id) {
    script.stop(*id);
  }
  CHECK(ended(script).size() == assemble::UserMarks::kMostOpen);
  script.settle(2 * test::kSecond);
  CHECK(ranges_in(script.assembler.counts().stale) == 5000 - 4096);
}
