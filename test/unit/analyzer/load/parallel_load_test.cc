// SPDX-License-Identifier: Apache-2.0
//
// The loaded traces do not depend on threads, nor on where the ranges of a file begin.
#include <sstream>
#include <string>

#include "analyzer/load/json/unneeded_line.h"
#include "analyzer/load/trace_loader.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside {
namespace {

const std::string kTrace =
    R"([{"ph":"M","name":"ringside_trace","args":{"format_version":1,"run_id":"0x1","base_time_s":7889238}},
{"ph":"b","cat":"op","ts":5.000,"name":"AllReduce","args":{"op":1,"context":1,"comm":"0xb","rank":0,"kind":"coll","func":"AllReduce","times_from":"enqueue","state":"enqueued"}},
{"ph":"M","name":"ringside_communicator","args":{"context":1,"name":"w","nranks":2}},
[{"ph":"C"}],
{"ph":"b","cat":"step","ts":5.000,"name":"send steps channel 3","args":{"context":1,"op":1}},
{"ph":"C","ts":5.000,"name":"x"},
{"ph":"e","cat":"step","ts":6.000,"name":"send steps channel 3"},
{"ph":"b","cat":"op","ts":5.000,"name":"Send","args":{"op":2,"context":1,"comm":"0xc","kind":"p2p","func":"Send","times_from":"enqueue","state":"enqueued"}},
{"ph":"M","name":"ringside_window","args":{"window":1,"start_ns":4}},
{"ph":"M","name":"ringside_window","args":{"window":1,"end_ns":9}},
{"ph":"X","ts":5.000,"name":"x},
{"ph":"M","name":"ringside_account","args":{"ts_ns":9,"by_type":{"Coll":{"produced":2}}}},
{"ph":"M","name":"ringside_end","args":{"ts_ns":10,"operations":2}}
]
)";

std::string loaded(const std::string& path, unsigned threads, std::uint64_t range_bytes) {
  model::Problems problems;
  const model::Traces traces = load::load_traces({path}, problems, threads, range_bytes);
  std::ostringstream text;
  for (const model::TraceFile& file : traces.files) {
    text << file.lines << ' ' << file.bad_lines << ' ' << file.size_bytes << ' ' << file.torn << ' '
         << file.closed << ' ' << file.last_ns.value_or(-1) << ' ' << file.account.produced << '\n';
    for (const auto& [number, context] : file.contexts) {
      text << number << ' ' << context.comm.value_or("-") << ' ' << context.name << ' '
           << context.rank.value_or(99) << ' ' << context.operations << '\n';
    }
    for (const model::Operation& operation : file.operations) {
      text << operation.id << ' ' << traces.names.text(operation.func) << '\n';
    }
    for (const model::Step& step : file.steps) {
      text << step.start_ns << ' ' << step.end_ns.value_or(-1) << ' ' << step.channel << '\n';
    }
    for (const auto& [number, window] : file.windows) {
      text << number << ' ' << window.start_ns << ' ' << window.end_ns.value_or(-1) << '\n';
    }
  }
  for (const auto* const list : {&problems.lines(), &problems.files()}) {
    for (const model::Problem& problem : *list) {
      text << problem.line << ": " << problem.reason << '\n';
    }
  }
  return text.str();
}

TEST_CASE("ranges of any size on several threads give what one thread and one range give") {
  TemporaryFile file(kTrace);
  const std::string whole = loaded(file.path(), 1, load::kRangeBytes);
  CHECK(whole.find("5000 6000 3\n") != std::string::npos);
  CHECK(whole.find("1 0xc w 99 2\n") != std::string::npos);
  CHECK(whole.find("1 4 9\n") != std::string::npos);
  CHECK(whole.find("4: ") != std::string::npos);
  CHECK(whole.find("11: ") != std::string::npos);
  for (std::uint64_t range_bytes = 1; range_bytes < 1500; range_bytes += 1 + range_bytes / 16) {
    INFO("ranges of " << range_bytes);
    CHECK(loaded(file.path(), 3, range_bytes) == whole);
  }
}

TEST_CASE("progress reaches the size of the files") {
  TemporaryFile file(kTrace);
  model::Problems problems;
  load::Progress progress;
  load::load_traces({file.path(), file.path()}, problems, 2, 100, &progress);
  CHECK(progress.bytes_all == 2 * kTrace.size());
  CHECK(progress.bytes_done == progress.bytes_all);
}

TEST_CASE("a trace that was cut off anywhere gives the same in ranges") {
  TemporaryFile file("");
  for (std::size_t length = 0; length <= kTrace.size(); length += 7) {
    file.write(kTrace.substr(0, length));
    INFO("cut at byte " << length);
    CHECK(loaded(file.path(), 2, 150) == loaded(file.path(), 1, load::kRangeBytes));
  }
}

TEST_CASE("a line is left unread only where it is known and whole") {
  using load::is_unneeded;
  CHECK(is_unneeded(R"({"ph":"C","ts":1.000,"name":"x","args":{"GB/s":1}},)"));
  CHECK(is_unneeded(R"({"ph":"e","cat":"op","ts":1.000,"name":"x"})"));
  CHECK(is_unneeded(R"({"ph":"b","cat":"op","ts":1.000,"name":"world"},)"));
  CHECK_FALSE(is_unneeded(R"({"ph":"b","cat":"op","ts":1.000,"args":{"op":1}},)"));
  CHECK_FALSE(is_unneeded(R"({"ph":"e","cat":"step","ts":1.000,"name":"x"},)"));
  CHECK_FALSE(is_unneeded(R"({"ph":"M","name":"ringside_end"},)"));
  CHECK_FALSE(is_unneeded(R"({"ph":"X","name":"x},)"));
  CHECK_FALSE(is_unneeded(R"({"ph":"X","name":"x","args":{"a":1},)"));
  CHECK_FALSE(is_unneeded(R"({"ph":"X","name":"x\"},)"));
  CHECK_FALSE(is_unneeded("{\"ph\":\"X\",\"name\":\"a\tb\"},"));
  CHECK_FALSE(is_unneeded(std::string("{\"ph\":\"X\",\"name\":\"abcdefgh\0\"},", 29)));
  CHECK_FALSE(is_unneeded(R"({"ph":"X","name":"x"},x)"));
  CHECK_FALSE(is_unneeded(""));
  CHECK_FALSE(is_unneeded("{\"ph\":\""));
}

}  // namespace
}  // namespace ringside
