// SPDX-License-Identifier: Apache-2.0
//
// In which range an operation was called, and moments that --from and --to name.
#include "analyzer/match/ranges.h"

#include "analyzer/match/selection.h"
#include "test/unit/catch.h"

using namespace ringside;
using match::kNoRange;
using match::Ranges;

namespace {

model::Mark range(model::Traces& traces, const char* name, std::uint32_t tid, std::int64_t start_ns,
                  std::optional<std::int64_t> end_ns) {
  return {traces.names.id(name), tid, true, start_ns, end_ns};
}

model::Operation call(std::uint32_t tid, std::int64_t time_ns) {
  model::Operation operation;
  operation.tid = tid;
  operation.enqueue_start_ns = time_ns;
  return operation;
}

}  // namespace

TEST_CASE("an operation is in the innermost range that was open on its thread") {
  model::Traces traces;
  traces.files.resize(1);
  auto& marks = traces.files[0].marks;
  marks[1] = range(traces, "epoch", 7, 100, std::nullopt);
  marks[2] = range(traces, "step", 7, 200, 300);
  marks[3] = range(traces, "forward", 7, 210, 250);
  marks[4] = range(traces, "step", 7, 400, 500);
  marks[5] = range(traces, "loader", 8, 0, 1000);
  const Ranges ranges(traces);
  const auto text = [&](std::uint32_t tid, std::int64_t time_ns) {
    return ranges.text(ranges.of(0, call(tid, time_ns)));
  };
  CHECK(text(7, 50).empty());
  CHECK(text(7, 100) == "epoch");
  CHECK(text(7, 249) == "epoch / step / forward");
  CHECK(text(7, 250) == "epoch / step");
  CHECK(text(7, 350) == "epoch");
  CHECK(ranges.of(0, call(7, 260)) == ranges.of(0, call(7, 450)));
  CHECK(text(8, 450) == "loader");
  CHECK(text(9, 450).empty());  // two threads have ranges: nobody knows whose hold here
}

TEST_CASE("ranges of the only thread that has any hold for all threads") {
  model::Traces traces;
  traces.files.resize(1);
  traces.files[0].marks[1] = range(traces, "backward", 7, 100, 200);
  const Ranges ranges(traces);
  CHECK(ranges.text(ranges.of(0, call(9, 150))) == "backward");
  CHECK(ranges.of(0, call(9, 200)) == kNoRange);
}

TEST_CASE("ranges of a damaged file, however deep, cost and name no more than sixteen") {
  model::Traces traces;
  traces.files.resize(1);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    traces.files[0].marks[i] = range(traces, "r", 7, static_cast<std::int64_t>(i), std::nullopt);
  }
  const Ranges ranges(traces);
  CHECK(ranges.text(ranges.of(0, call(7, 200'000))).size() == 16 + 15 * 3);
}

TEST_CASE("a moment is named by its text and, of several, by its number") {
  CHECK_FALSE(match::parse_moment("1.5"));
  CHECK_FALSE(match::parse_moment("mark:"));
  CHECK(match::parse_moment("mark:step")->name == "step");
  CHECK(match::parse_moment("mark:step")->number == 1);
  CHECK(match::parse_moment("mark:a:b#12")->name == "a:b");
  CHECK(match::parse_moment("mark:a:b#12")->number == 12);
  CHECK(match::parse_moment("mark:C#")->name == "C#");
  CHECK(match::parse_moment("mark:x#0")->name == "x#0");
}

TEST_CASE("a moment is when the first process came to it") {
  model::Traces traces;
  traces.files.resize(2);
  for (std::uint32_t file = 0; file < 2; ++file) {
    const auto late_ns = static_cast<std::int64_t>(file) * 10;
    traces.files[file].marks[1] = range(traces, "step", 7, 100 + late_ns, 200 + late_ns);
    traces.files[file].marks[2] = range(traces, "step", 7, 300 - late_ns, 400 - late_ns);
  }
  traces.files[1].marks[3] = range(traces, "step", 7, 900, std::nullopt);
  const match::CommonClock clock = match::realtime_clock(traces);
  const auto find = [&](const char* from, const char* to) {
    match::Selection selection;
    selection.from_mark = *match::parse_moment(from);
    selection.to_mark = *match::parse_moment(to);
    const std::string trouble = match::find_moments(traces, clock, selection);
    CHECK(trouble.empty());
    return selection;
  };
  const auto zero_ns = clock.to_common_ns(0, 0);
  CHECK(find("mark:step", "mark:step").from_ns == zero_ns + 100);
  CHECK(find("mark:step", "mark:step").to_ns == zero_ns + 200);
  CHECK(find("mark:step#2", "mark:step#2").from_ns == zero_ns + 290);
  CHECK(find("mark:step#3", "mark:step#3").from_ns == zero_ns + 900);
  CHECK_FALSE(find("mark:step#3", "mark:step#3").to_ns);  // it has not ended
  match::Selection selection;
  selection.to_mark = *match::parse_moment("mark:step#4");
  CHECK(match::find_moments(traces, clock, selection) ==
        "no process has more than 3 marks or ranges named 'step'");
  selection.to_mark = *match::parse_moment("mark:other");
  CHECK(match::find_moments(traces, clock, selection) ==
        "no trace has a mark or range named 'other'");
}
