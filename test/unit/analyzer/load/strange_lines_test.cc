// SPDX-License-Identifier: Apache-2.0
//
// Lines that are JSON and cannot be what they say (docs/trace-format.md, "Reading"). Each was once
// read as something else.
#include <string>

#include "analyzer/load/trace_loader.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside {
namespace {

const std::string kFirst =
    R"([{"ph":"M","name":"ringside_trace","args":{"format_version":1,"base_time_s":7889238}},)";

struct Loaded {
  model::Traces traces;
  model::Problems problems;

  const model::TraceFile& file() const { return traces.files.at(0); }
};

Loaded load_lines(const std::string& lines, std::uint64_t range_bytes = load::kRangeBytes) {
  const TemporaryFile file(kFirst + '\n' + lines);
  Loaded loaded;
  loaded.traces = load::load_traces({file.path()}, loaded.problems, 1, range_bytes);
  return loaded;
}

std::uint64_t bad_lines(const std::string& line) {
  return load_lines(line + ",\n").problems.bad_lines();
}

std::string row(const char* category, const char* name, const char* arguments,
                const char* ts = "5.000") {
  return std::string(R"({"ph":"b","cat":")") + category + R"(","ts":)" + ts + R"(,"name":")" +
         name + R"(","args":{)" + arguments + "}}";
}

std::string metadata(const char* name, const char* arguments) {
  return std::string(R"({"ph":"M","name":")") + name + R"(","args":{)" + arguments + "}}";
}

}  // namespace

TEST_CASE("a row says which end it is") {
  CHECK(bad_lines(row("step", "send steps channel 3", R"("context":1)")) == 0);
  CHECK(bad_lines(row("step", "rank 2 recv steps channel 3", R"("context":1)")) == 0);
  CHECK(bad_lines(row("proxy", "recv channel 3", R"("context":1,"peer":0)")) == 0);
  CHECK(bad_lines(row("step", "{end steps channel 3", R"("context":1)")) == 1);
  CHECK(bad_lines(row("step", "asend steps channel 3", R"("context":1)")) == 1);
  CHECK(bad_lines(row("step", "send channel 3", R"("context":1)")) == 1);
  CHECK(bad_lines(row("proxy", "channel 3", R"("context":1,"peer":0)")) == 1);
}

TEST_CASE("a row says whose it is, and when") {
  CHECK(bad_lines(row("step", "send steps channel 3", R"("op":1)")) == 1);
  CHECK(bad_lines(row("proxy", "recv channel 3", R"("context":1)")) == 1);
  CHECK(bad_lines(row("step", "send steps channel 3", R"("context":1)", "-0.500")) == 1);
  CHECK(bad_lines(row("step", "send steps channel 3", R"("context":1)", "5.000\x01")) == 1);
  CHECK(bad_lines(row("step", "send steps channel 3", R"("context":1)", "5.-00")) == 1);
}

TEST_CASE("the end of a row is not taken for another's") {
  const std::string begin = row("step", "send steps channel 3", R"("context":1)") + ",\n";
  const std::string end = R"({"ph":"e","cat":"step","ts":9.000,"name":"send steps channel 3"},)"
                          "\n";
  const std::string damaged = "{\"ph\":\"b\",\"cat\":\"st\n";
  CHECK(load_lines(begin + end).file().steps.at(0).end_ns == 9000);
  for (const std::uint64_t range_bytes : {load::kRangeBytes, std::uint64_t{40}}) {
    const Loaded loaded = load_lines(begin + damaged + end, range_bytes);
    CHECK(loaded.problems.bad_lines() == 1);
    CHECK_FALSE(loaded.file().steps.at(0).end_ns);
  }
}

TEST_CASE("a clock has all of its values") {
  const char* const good =
      R"("ts_ns":1,"realtime_ns":"0x10","monotonic_ns":"0x7","uncertainty_ns":2)";
  CHECK(load_lines(metadata("ringside_clock", good) + '\n').file().clocks.at(0).realtime_ns == 16);
  for (
      const char* const bad :
      {R"("ts_ns":1,"monotonic_ns":"0x7","uncertainty_ns":2)",
       R"("ts_ns":1,"realtime_ns":"0x-10","monotonic_ns":"0x7","uncertainty_ns":2)",
       R"("ts_ns":1,"realtime_ns":"0x8000000000000000","monotonic_ns":"0x7","uncertainty_ns":2)"}) {
    INFO(bad);
    const Loaded loaded = load_lines(metadata("ringside_clock", bad) + '\n');
    CHECK(loaded.problems.bad_lines() == 1);
    CHECK(loaded.file().clocks.empty());
  }
}

TEST_CASE("an account whose sums do not fit is not believed") {
  const auto account = [](const char* types) {
    return metadata("ringside_account",
                    (std::string(R"("ts_ns":1,"by_type":{)") + types + "}").c_str());
  };
  CHECK(bad_lines(account(R"("A":{"produced":9223372036854775807},"B":{"produced":1})")) == 0);
  CHECK(bad_lines(
            account(R"("A":{"produced":9223372036854775807},"B":{"produced":9223372036854775807},)"
                    R"("C":{"produced":2})")) == 1);
}

TEST_CASE("what follows a member that is damaged is not skipped with it") {
  CHECK(bad_lines(R"({"ph":"b","cat":"step","tid":"x":"y","ts":5.000,"name":"x"}})") == 1);
  CHECK(bad_lines(R"({"ph":"b","cat":"step","id2":,"ts":5.000,"name":"x"})") == 1);
  CHECK(bad_lines(row("step", "send steps channel 3", R"("step":,"context":1)")) == 1);
}

TEST_CASE("args that are cut short are not replaced by what follows") {
  CHECK(bad_lines(R"({"ph":"C" ,"args":{"a":1} ,"name":"x"})") == 0);
  CHECK(bad_lines(R"({"ph":"M","args":{"a":],"args":{"a":1},"name":"x"})") == 1);
}

TEST_CASE("a bracket too many is seen") {
  CHECK(bad_lines(R"({"ph":"M","name":"x","args":{{"a":1}})") == 1);
  CHECK(bad_lines(R"({"ph":"M","name":"x","args":{["a":1}})") == 1);
  CHECK(bad_lines(R"({"ph":"M","id2":{{"a":1},"name":"x","args":{"a":1}})") == 1);
  CHECK(bad_lines(R"({"ph":"M","id2":{"a":1}},"name":"x","args":{"a":1}})") == 1);
  CHECK(bad_lines(R"({"ph":"M","name":"x","args":{ })") == 1);
  CHECK(bad_lines(R"({"ph":"M","name":"x","args":{ }})") == 0);
}

TEST_CASE("a first line without a newline is torn") {
  const TemporaryFile file(kFirst);
  model::Problems problems;
  CHECK(load::load_traces({file.path()}, problems).files.empty());
  CHECK(problems.files().size() == 1);
}

}  // namespace ringside
