// SPDX-License-Identifier: Apache-2.0
//
// Marks and ranges of the application, among NCCL's calls on the same threads.
#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using assemble::Mark;
using assemble::UserMark;
using record::EventType;
using test::kMillisecond;
using test::Script;

namespace {

void say(Script& script, UserMark::What what, const char* text, std::int32_t tid = 10) {
  UserMark mark;
  mark.what = what;
  mark.ts_ns = script.now += 1000;
  mark.tid = tid;
  mark.text = text;
  mark.source = what == UserMark::What::kPush ? "train.py:17" : "";
  script.assembler.mark(std::move(mark));
}

std::vector<Mark> ended(const Script& script) {
  std::vector<Mark> found;
  for (const Mark& mark : script.sink.marks) {
    if (mark.is_range && mark.end_ns != assemble::kUnknownTime && !mark.in_flight) {
      found.push_back(mark);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("ranges nest, and calls lie within them") {
  Script script;
  say(script, UserMark::What::kPush, "step");
  say(script, UserMark::What::kPush, "forward");
  const auto coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  say(script, UserMark::What::kPop, "");
  say(script, UserMark::What::kPop, "");
  say(script, UserMark::What::kPop, "");  // one too many
  script.assembler.take_marks(script.now);
  const auto ranges = ended(script);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].text == "forward");
  CHECK(ranges[0].source == "train.py:17");
  CHECK(ranges[0].number == 2);
  CHECK(ranges[0].nests);
  CHECK(ranges[1].text == "step");
  CHECK(ranges[1].number == 1);
  REQUIRE(script.sink.calls.size() == 1);
  const assemble::Call& call = script.sink.calls[0];
  CHECK(call.nests);
  CHECK(ranges[1].ts_ns < ranges[0].ts_ns);
  CHECK(ranges[0].ts_ns < call.start_ns);
  CHECK(call.end_ns < ranges[0].end_ns);
  CHECK(ranges[0].end_ns < ranges[1].end_ns);
}

TEST_CASE("a range that ends within a group that began in it is no slice of the thread") {
  Script script;
  say(script, UserMark::What::kPush, "crossed");
  const auto group = script.start(EventType::kGroup, 0);
  say(script, UserMark::What::kPop, "");
  script.stop(group);
  script.assembler.take_marks(script.now);
  REQUIRE(ended(script).size() == 1);
  CHECK_FALSE(ended(script)[0].nests);
  REQUIRE(script.sink.calls.size() == 1);
  CHECK(script.sink.calls[0].nests);
}

TEST_CASE("ranges of a thread wait for its older records, and for none of others") {
  Script script;
  say(script, UserMark::What::kPush, "here");
  CHECK(script.sink.marks.empty());
  script.stop(script.start(EventType::kColl, 0, 11));
  CHECK(script.sink.marks.empty());
  script.stop(script.start(EventType::kColl, 0, 10));
  REQUIRE(script.sink.marks.size() == 1);
  CHECK(script.sink.marks[0].end_ns == assemble::kUnknownTime);
  say(script, UserMark::What::kMark, "moment");
  REQUIRE(script.sink.marks.size() == 2);
  CHECK_FALSE(script.sink.marks[1].is_range);
}

TEST_CASE("ranges that are open are shown in flight, inner ones within outer ones") {
  Script script;
  say(script, UserMark::What::kPush, "outer");
  say(script, UserMark::What::kPush, "inner");
  script.assembler.take_marks(script.now);
  test::CollectingSink dump;
  script.assembler.write_in_flight(dump, script.now += kMillisecond);
  REQUIRE(dump.marks.size() == 2);
  CHECK(dump.marks[0].text == "outer");
  CHECK(dump.marks[0].in_flight);
  CHECK(dump.marks[1].end_ns < dump.marks[0].end_ns);
  script.assembler.close(script.now += kMillisecond);
  CHECK(script.sink.marks.size() == 4);
}

TEST_CASE("ranges that are never ended do not pile up, and later ends are not theirs") {
  Script script;
  for (int i = 0; i < 1000; ++i) {
    say(script, UserMark::What::kPush, "leaked");
  }
  script.assembler.take_marks(script.now);
  CHECK(script.assembler.held_events() == 256);
  for (int i = 0; i < 1000; ++i) {
    say(script, UserMark::What::kPop, "");
  }
  script.assembler.take_marks(script.now);
  CHECK(ended(script).size() == 256);
  CHECK(script.assembler.held_events() == 0);
}
