// SPDX-License-Identifier: Apache-2.0
//
// The analyzer reads whatever a crash, a full disk or a bad cable left behind.
#include <random>
#include <string>

#include "analyzer/lint/file_linter.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/communicators/duplicate_files.h"
#include "test/unit/analyzer/analyse_all.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside {
namespace {

constexpr char kTrace[] =
    R"([{"ph":"M","pid":9,"tid":9,"ts":0,"name":"ringside_trace","args":{"format_version":1,"plugin_version":"0.1.0","run_id":"0x1","job":"j","host":"h","boot_id":"b","pid":9,"base_time_s":7889238,"start_ns":1,"nccl_version":null,"abi":6,"clock":"tsc","events":["Coll"],"config":{},"environment":{}}},
{"ph":"M","pid":9,"tid":9,"ts":0,"name":"ringside_communicator","args":{"context":1,"comm":"0xb","name":"w\u00e9\"","rank":0,"nranks":2,"created_ns":2}},
{"ph":"M","pid":9,"tid":9,"ts":0,"name":"ringside_window","args":{"window":1,"start_ns":1,"events":["Coll"]}},
{"ph":"X","cat":"api","pid":9,"tid":7,"ts":1.000,"dur":2.000,"name":"AllReduce","bind_id":"0x7","flow_out":true,"args":{"type":"Coll","id":1,"context":1,"op":26}},
{"ph":"b","cat":"op","id2":{"local":"0x1a"},"pid":9,"tid":9,"ts":1.000,"name":"world"},
{"ph":"b","cat":"op","id2":{"local":"0x1a"},"pid":9,"tid":9,"ts":5.000,"name":"AllReduce","bind_id":"0x7","flow_in":true,"args":{"op":26,"context":1,"comm":"0xb","rank":0,"nranks":2,"kind":"coll","func":"AllReduce","seq":7,"count":65536,"datatype":"ncclFloat32","bytes":262144,"algo":"RING","proto":"SIMPLE","channels":2,"window":1,"enqueue_start_ns":1000,"enqueue_end_ns":3000,"start_ns":5000,"end_ns":9000,"times_from":"gpu","state":"completed"}},
{"ph":"e","cat":"op","id2":{"local":"0x1a"},"pid":9,"tid":9,"ts":9.000,"name":"AllReduce"},
{"ph":"e","cat":"op","id2":{"local":"0x1a"},"pid":9,"tid":9,"ts":9.000,"name":"world"},
{"ph":"b","cat":"op","id2":{"local":"0x1b"},"pid":9,"tid":9,"ts":9.000,"name":"Send","args":{"op":27,"context":1,"kind":"p2p","func":"Send","count":1,"datatype":"ncclInt8","bytes":1,"peer":0,"window":1,"enqueue_start_ns":9000,"times_from":"enqueue","state":"enqueued","in_flight":true}},
{"ph":"C","pid":9,"tid":9,"ts":9.000,"name":"w busbw","args":{"GB/s":1.5}},
{"ph":"M","pid":9,"tid":9,"ts":0,"name":"ringside_account","args":{"ts_ns":9,"final":true,"by_type":{"Coll":{"produced":2,"written":1,"merged":1}},"by_thread":[]}},
{"ph":"M","pid":9,"tid":9,"ts":0,"name":"ringside_end","args":{"ts_ns":9,"operations":2}}
]
)";

// One place or round of so many: test/fuzz has many more damaged traces. Sanitizers take ten to
// thirty times as long for each file, and ThreadSanitizer looks for what the threads share.
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kEach = 64;
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kEach = 20;
#else
constexpr std::size_t kEach = 4;
#endif

struct Outcome {
  std::size_t operations = 0;
  std::uint64_t bad_lines = 0;
  bool is_trace = false;
};

// Everything that is ever done with a file.
Outcome read_all(const TemporaryFile& file) {
  model::Problems problems;
  model::Traces traces = load::load_traces({file.path(), file.path()}, problems);
  Outcome outcome;
  outcome.is_trace = !traces.files.empty();
  outcome.bad_lines = problems.bad_lines() / 2;  // it was read twice
  outcome.operations = traces.files.empty() ? 0 : traces.files[0].operations.size();
  CHECK(analyse_all(traces, problems) > 0);
  lint::lint_file(file.path(), true);
  return outcome;
}

TEST_CASE("the trace of these tests is good") {
  const TemporaryFile file(kTrace);
  CHECK(read_all(file).operations == 2);
  const lint::FileReport report = lint::lint_file(file.path(), true);
  for (const lint::Finding& finding : report.findings.kept()) {
    FAIL_CHECK(finding.line << ": " << lint::rule_name(finding.rule) << ": " << finding.text);
  }
  CHECK(report.events == 12);
}

TEST_CASE("a trace that was cut off anywhere is read up to its last whole line") {
  const std::string whole = kTrace;
  TemporaryFile file("");
  std::size_t most = 0;
  for (std::size_t length = 0; length <= whole.size(); length += kEach) {
    file.write(whole.substr(0, length));
    const Outcome outcome = read_all(file);
    INFO("cut at byte " << length);
    CHECK(outcome.bad_lines == 0);
    CHECK(outcome.operations >= most);
    most = std::max(most, outcome.operations);
  }
  CHECK(most == 2);
}

TEST_CASE("flipped bytes are survived") {
  const std::string whole = kTrace;
  std::mt19937 random(20261121);
  TemporaryFile file("");
  for (std::size_t round = 0; round < 1500; round += kEach) {
    std::string text = whole;
    const unsigned flips = 1 + random() % 8;
    for (unsigned i = 0; i < flips; ++i) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    file.write(text);
    CHECK(read_all(file).operations <= 2);
  }
}

TEST_CASE("pieces that are moved, doubled or left out are survived") {
  const std::string whole = kTrace;
  std::mt19937 random(7);
  TemporaryFile file("");
  for (std::size_t round = 0; round < 1000; round += kEach) {
    std::string text = whole;
    const std::size_t from = random() % text.size();
    const std::string piece = text.substr(from, random() % 200);
    if (random() % 2 == 0) {
      text.erase(from, piece.size());
    }
    text.insert(random() % text.size(), piece);
    file.write(text);
    read_all(file);
  }
  SUCCEED();
}

}  // namespace
}  // namespace ringside
