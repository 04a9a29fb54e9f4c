// SPDX-License-Identifier: Apache-2.0
//
// The merged file does not depend on threads.
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/matcher.h"
#include "analyzer/merge/in_order.h"
#include "analyzer/merge/merged_file.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/parallel.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside::merge {
namespace {

constexpr int kRanks = 7;
constexpr int kOperations = 3000;  // of the longest trace: more than is given on at once

std::string microseconds(std::int64_t whole) {
  return std::to_string(whole) + ".000";
}

// Lengths differ, so that processes end in another order than they are written in; every second
// trace has a line that is none.
std::string trace_of(int rank) {
  const std::string number = std::to_string(rank);
  std::string text = R"([{"ph":"M","name":"ringside_trace","pid":)" + std::to_string(100 + rank) +
                     R"(,"args":{"format_version":1,"run_id":"0x1)" + number + R"(","host":"h)" +
                     std::to_string(rank / 4) + R"(","launcher_rank":)" + number +
                     R"(,"start_ns":0,"base_time_s":7889238}},
{"ph":"M","name":"ringside_communicator","pid":1,"args":{"context":1,"comm":"0xb","name":"w","rank":)" +
                     number + R"(,"nranks":7}},
)";
  for (int i = 0; i < kOperations * (kRanks - rank) / kRanks; ++i) {
    const std::int64_t start_us = std::int64_t{1000} * i + (i % kRanks == rank ? 610 : 10);
    const std::string start = microseconds(start_us);
    const std::string end = microseconds(std::int64_t{1000} * i + 900);
    const std::string start_ns = std::to_string(start_us * 1000);
    const std::string call = std::to_string(i);
    text.append(R"({"ph":"b","cat":"op","id2":{"local":")").append(call);
    text.append(R"("},"pid":1,"tid":1,"ts":)").append(start);
    text.append(R"(,"name":"AllReduce","args":{"op":)").append(std::to_string(i + 1));
    text.append(R"(,"context":1,"comm":"0xb","rank":)").append(number);
    text.append(R"(,"nranks":7,"kind":"coll","func":"AllReduce","seq":)").append(call);
    text.append(R"(,"count":4,"datatype":"ncclFloat32","bytes":16,"start_ns":)").append(start_ns);
    text.append(R"(,"end_ns":)").append(std::to_string((std::int64_t{1000} * i + 900) * 1000));
    text.append(R"(,"times_from":"gpu","state":"completed"}},
{"ph":"e","cat":"op","id2":{"local":")")
        .append(call);
    text.append(R"("},"pid":1,"tid":1,"ts":)").append(end).append(R"(,"name":"AllReduce"},
)");
    if (i == 5 && rank % 2 == 1) {
      text += "{\"ph\":\"b\",,\n";
    }
  }
  return text + "{\"ph\":\"M\",\"name\":\"ringside_end\",\"pid\":1,\"args\":{\"ts_ns\":1}}\n]\n";
}

struct Merged {
  std::string bytes;
  std::string told;
};

Merged merged(const model::Traces& traces, bool is_perfetto, unsigned threads) {
  const auto alignment = align::Alignment::estimate(traces);
  const match::Matches matches = match::match_operations(traces);
  const Plan plan = make_plan(traces, matches, alignment, {});
  const TemporaryFile file("");
  OutputFile output(file.path(), true);
  WriteOptions options;
  options.is_perfetto = is_perfetto;
  options.threads = threads;
  model::Problems problems;
  const MergedLines lines = write_merged(traces, alignment, plan, options, output, problems);
  CHECK(output.finish());
  CHECK(lines.unread == 2);
  std::ifstream stream(file.path(), std::ios::binary);
  Merged result;
  result.bytes.assign(std::istreambuf_iterator<char>(stream), {});
  result.told = std::to_string(lines.written) + ' ' + std::to_string(lines.damaged) + ' ' +
                lines.first_damaged;
  for (const model::Problem& problem : problems.files()) {
    result.told += '\n' + problem.path + ": " + problem.reason;
  }
  return result;
}

TEST_CASE("several threads merge what one merges, byte for byte") {
  std::deque<TemporaryFile> files;
  std::vector<std::string> paths;
  paths.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    paths.push_back(files.emplace_back(trace_of(rank)).path());
  }
  model::Problems problems;
  const model::Traces traces = load::load_traces(paths, problems);
  REQUIRE(traces.files.size() == kRanks);
  // Two that go between loading and merging.
  std::remove(paths[2].c_str());
  std::remove(paths[4].c_str());
  const bool is_perfetto = GENERATE(false, true);
  const Merged one = merged(traces, is_perfetto, 1);
  CHECK(one.bytes.size() > std::size_t{1} << 20);
  CHECK(one.told.find(" 3 " + paths[1] + ":") != std::string::npos);
  CHECK(one.told.find(paths[2]) < one.told.find(paths[4]));
  if (!is_perfetto) {
    CHECK(one.bytes.find("\"name\":\"waiting for ") != std::string::npos);
    CHECK(one.bytes.find("h0: sum of 3 processes") != std::string::npos);
  }
  for (const unsigned threads : {2U, 16U}) {
    INFO(threads << " threads");
    const Merged several = merged(traces, is_perfetto, threads);
    CHECK((several.bytes == one.bytes));
    CHECK(several.told == one.told);
  }
}

TEST_CASE("texts come in the order of their tasks, however long they wait") {
  std::string all;
  InOrder in_order([&](std::string_view text) { all += text; }, 100);
  const auto add = [&](std::size_t task, std::string text) {
    in_order.add(task, text);
    CHECK(text.empty());
  };
  add(2, "e");
  add(1, "c");
  in_order.end(2);
  add(0, "a");
  CHECK(all == "a");
  add(1, "d");
  add(0, "b");
  in_order.end(0);
  CHECK(all == "abcd");
  add(3, "f");
  in_order.end(1);
  CHECK(all == "abcdef");
  add(3, "g");
  CHECK(all == "abcdefg");
}

TEST_CASE("tasks that are too far ahead wait, and none for ever") {
  constexpr std::size_t kTasks = 200;
  const std::size_t most_bytes = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{7});
  std::string all;
  std::string expected;
  InOrder in_order([&](std::string_view text) { all += text; }, most_bytes);
  for (std::size_t task = 0; task < kTasks; ++task) {
    expected += std::string(task % 5, static_cast<char>('a' + task % 26));
  }
  in_parallel(
      kTasks, 3, [] { return 0; },
      [&](std::size_t task, int) {
        for (std::size_t i = 0; i < task % 5; ++i) {
          std::string text(1, static_cast<char>('a' + task % 26));
          in_order.add(task, text);
        }
        in_order.end(task);
      });
  CHECK(all == expected);
}

}  // namespace
}  // namespace ringside::merge
