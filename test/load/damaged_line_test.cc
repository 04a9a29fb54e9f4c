// SPDX-License-Identifier: Apache-2.0
//
// Damage to the structure of a line, where simdjson skips what nobody asks for: both loaders call
// the same lines bad.
#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/trace_loader.h"
#include "test/load/compare_loaders.h"
#include "test/load/memory_file.h"
#include "test/unit/catch.h"
#include "test/unit/sanitized.h"

namespace ringside::plain {
namespace {

constexpr const char* kOperation =
    R"({"ph":"b","cat":"op","id2":{"local":"0x1","more":[1,{"a":1}]},"ts":5.000,"name":"AllReduce",)"
    R"("args":{"op":1,"context":1,"kind":"coll","func":"AllReduce","times_from":"enqueue",)"
    R"("state":"enqueued","x":{"y":[1]}}},)";

std::uint64_t bad_lines(const std::string& line) {
  const MemoryFile file(std::string(kFirstLine) + '\n' + line + '\n' + kOperation + "\n]\n");
  CHECK(compare_loaders({file.path()}, {load::kRangeBytes}, 1) == "");
  model::Problems problems;
  load::load_traces({file.path()}, problems, 1);
  return problems.bad_lines();
}

TEST_CASE("args that are not read must be JSON") {
  for (const std::string line :
       {R"({"ph":"M","name":"whatever","args":{"t":"r":"A"}}},)",
        R"({"ph":"M","name":"whatever","args":{"t":1}}},)",
        R"({"ph":"M","name":"thread_name","args":{"name":}"x"}},)",
        R"({"ph":"M","args":{"t":,"u":1}},)",
        R"({"ph":"b","ca]t":"op","args":{"context"::1,"x":{"y":[1]}]}},)",
        R"({"ph":"e","cat":"step","name":"send steps channel 0","args":{"x":"r":{"y":1}]}},)",
        R"({"ph":"M","name":"ringside_account","args":{"ts_ns":5,"given_up":{"Co\l":1}}},)"}) {
    INFO(line);
    CHECK(bad_lines(line) == 1);
  }
  for (const std::string line :
       {R"({"ph":"M","name":"whatever","args":{"t":["r",{}],"n":123456789012345678901234567890}},)",
        R"({"ph":"M","name":"whatever","args":{}},)", R"({"ph":"M","name":"whatever"},)",
        R"({"ph":"e","cat":"step","name":"send steps channel 0","args":{"x":[{"y":-1.5e9}]}},)"}) {
    INFO(line);
    CHECK(bad_lines(line) == 0);
  }
}

TEST_CASE("lines of a reading of the machine have their time, and values of their kinds") {
  const auto line = [](const std::string& name, const std::string& args) {
    return R"({"ph":"M","name":"ringside_)" + name + R"(","args":{)" + args + "}},";
  };
  for (const auto& [name, args] : std::vector<std::pair<std::string, std::string>>{
           {"topology", R"("":1)"},
           {"topology", R"("ts_ns":5,"state":"well")"},
           {"topology", R"("ts_ns":5,"state":"failed","left_out":-1)"},
           {"gpu", R"("index":0)"},
           {"gpu", R"("ts_ns":5,"links":{"link":0})"},
           {"gpu", R"("ts_ns":5,"links":[{"link":0,"replay":-1}])"},
           {"port", R"("device":"mlx5_0")"},
           {"port", R"("ts_ns":5,"counters":{"a":"1"})"},
           {"port", R"("ts_ns":5,"counters":{"a":"0x"})"},
           {"port", R"("ts_ns":5,"counters":{"a":"0x10000000000000000"})"},
           {"clock", R"("ts_ns":5,"realtime_ns":"0x1","monotonic_ns":"0x2","uncertainty_ns":4,)"
                     R"("step_after_ns":"1")"}}) {
    INFO(name << args);
    CHECK(bad_lines(line(name, args)) == 1);
  }
  for (const auto& [name, args] : std::vector<std::pair<std::string, std::string>>{
           {"topology", R"("ts_ns":5,"state":"complete")"},
           {"gpu", R"("ts_ns":5,"links":[])"},
           {"port", R"("ts_ns":5,"counters":{"a":"0xffffffffffffffff","b":0})"}}) {
    INFO(name << args);
    CHECK(bad_lines(line(name, args)) == 0);
  }
}

TEST_CASE("brackets of an unread line may be as deep as it is long") {
  const std::string deep(200'000, '[');
  const std::string line = R"({"ph":"M","name":"whatever","args":{"x":)" + deep;
  CHECK(bad_lines(line + "}},") == 1);
  CHECK(bad_lines(line + std::string(deep.size(), ']') + "}},") == 0);
}

// The damage is done to the parts that hold a line together, not to its words.
std::string damaged(std::string line, std::mt19937& random) {
  const std::vector<std::string_view> pieces = {
      "{",  "}",  "[",      "]",    ":",    ",",       "\"",         "\\",           "\\u",
      "]}", "},", "\"r\":", "1e5",  "-",    "null",    "\"args\":{", "\"x\":\"y\":", "\x01",
      "}}", " ",  "\"a\"",  "true", "\xff", "\"k\":{", "\\ud800"};
  constexpr std::string_view kJoints = "{}[],:";
  const auto below = [&](std::size_t most) { return random() % most; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    std::size_t at = below(line.size() - 1);
    if (below(4) != 0) {
      at = std::min(line.find_first_of(kJoints, at), line.size() - 2) + below(2);
    }
    const std::string_view piece = pieces[below(pieces.size())];
    switch (below(3)) {
      case 0:
        line.insert(at, piece);
        break;
      case 1:
        line.erase(at, 1);
        break;
      default:
        line.replace(at, 1, piece);
    }
  }
  return line;
}

TEST_CASE("lines of any kind with their structure damaged") {
  const std::vector<std::string> lines = {
      kOperation,
      R"({"ph":"M","name":"whatever","args":{"t":"r","u":[1,{"a":2}]}},)",
      R"({"ph":"M","name":"ringside_communicator","args":{"context":1,"comm":"0xb",)"
      R"("gpu":{"index":0,"uuid":"a"},"rank":0,"nranks":2}},)",
      R"({"ph":"M","name":"ringside_window","args":{"window":1,"start_ns":5,"events":["Coll"]}},)",
      R"({"ph":"M","name":"ringside_mark","args":{"mark":1,"name":"a","tid":4,"start_ns":4}},)",
      R"({"ph":"M","name":"ringside_account","args":{"ts_ns":5,"by_type":{"Coll":{"produced":3}},)"
      R"("given_up":{"Coll":1},"by_thread":[{"tid":1,"produced":3}]}},)",
      R"({"ph":"M","name":"ringside_clock","args":{"ts_ns":5,"realtime_ns":"0x1",)"
      R"("monotonic_ns":"0x2","uncertainty_ns":4,"x":[{"y":1}]}},)",
      R"({"ph":"M","name":"ringside_clock","args":{"ts_ns":5,"realtime_ns":"0x1",)"
      R"("monotonic_ns":"0x2","uncertainty_ns":4,"synchronised":true,"step_after_ns":1}},)",
      R"({"ph":"M","name":"ringside_topology","args":{"ts_ns":5,"state":"failed","reason":"none",)"
      R"("took_ns":3,"gpus":0,"ports":0,"left_out":1}},)",
      R"({"ph":"M","name":"ringside_gpu","args":{"ts_ns":5,"index":1,"pci":"0000:3b:00.0",)"
      R"("numa_node":0,"links":[{"link":0,"up":true,"remote":"gpu","replay":2,"x":[1]},{"link":1}]}},)",
      R"({"ph":"M","name":"ringside_port","args":{"ts_ns":5,"device":"mlx5_0","port":1,)"
      R"("rate_mbit_s":200000,"counters":{"link_downed":1,"port_xmit_data":"0xff"}}},)",
      R"({"ph":"M","name":"ringside_end","args":{"ts_ns":5,"operations":1,"x":{"z":[1]}}},)",
      R"({"ph":"b","cat":"step","id2":{"local":"0x1"},"ts":5.000,"name":"send steps channel 0",)"
      R"("args":{"context":1,"op":1,"peer":1,"x":{"y":[1]}}},)",
      R"({"ph":"e","cat":"proxy","id2":{"local":"0x1"},"ts":5.000,"name":"send channel 0",)"
      R"("args":{"x":[{"y":1}]}},)"};
  std::mt19937 random(1);
  std::uint64_t bad = 0;
  constexpr std::uint64_t kLines = kIsSanitized ? 5'000 : 20'000;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    const std::string line = damaged(lines[i % lines.size()], random);
    INFO(line);
    bad += bad_lines(line);
  }
  CHECK(bad > kLines / 2);
}

}  // namespace
}  // namespace ringside::plain
