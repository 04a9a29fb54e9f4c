// SPDX-License-Identifier: Apache-2.0
// The output of nccl-tests, in the layouts of its releases: its code (src/common.cu, src/util.cu)
// says which columns there are.
#include "analyzer/load/imports/nccl_tests.h"

#include <string>
#include <utility>

#include "analyzer/metrics/rows/baseline.h"
#include "test/unit/catch.h"

using namespace ringside;

namespace {

const std::string kHead =
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 1 iters: "
    "20 "
    "agg iters: 1 validation: 1 graph: 0\n"
    "#\n"
    "# Using devices\n";

std::string ranks(int count, const char* group = "Group  0 ") {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "#  Rank  " + std::to_string(i) + ' ' + group +
            "Pid  1 on  host device  0 [0000:18:00] NVIDIA H100 80GB HBM3\n";
  }
  return text + "#\n";
}

const std::string kTable =
    "#                                                 out-of-place          in-place\n"
    "#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    "#        (B)  (elements)                (us)  (GB/s)  (GB/s)      (us)  (GB/s)  (GB/s)\n";

}  // namespace

TEST_CASE("a table of nccl-tests: both columns, and the test from its own line") {
  const std::string text =
      "some launcher's line\n# Collective test starting: all_reduce_perf\n" + kHead + ranks(8) +
      kTable +
      "  1048576  262144  float  sum  -1  100.0  10.49  18.35  0  90.00  11.65  20.39  0\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 19.3\n";
  REQUIRE(load::has_nccl_tests(text));
  const auto tests = load::read_nccl_tests(text, "out.log");
  CHECK(tests.notes.empty());
  CHECK(tests.results == std::vector<load::NcclTestResult>{{"AllReduce", 8, 1048576, 18.35},
                                                           {"AllReduce", 8, 1048576, 20.39}});
}

TEST_CASE("an old table: no root, a blank operation, no group; the file's name says the test") {
  const std::string text =
      kHead + ranks(4, "") +
      "#       size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
      "  4194304  1048576  float  100.0  41.94  31.46  N/A  100.0  41.94  31.46  N/A\n";
  const auto tests = load::read_nccl_tests(text, "runs/all_gather_perf.txt");
  REQUIRE(tests.results.size() == 2);
  CHECK(tests.results[0] == load::NcclTestResult{"AllGather", 4, 4194304, 31.46});
  CHECK(load::read_nccl_tests(text, "out.txt").results.empty());
  CHECK(load::read_nccl_tests(text, "out.txt").notes.size() == 1);
  const auto named = load::read_nccl_tests("$ ./reduce_scatter_perf -b 1M\n" + text, "x");
  REQUIRE(named.results.size() == 2);
  CHECK(named.results[0].function == "ReduceScatter");
}

TEST_CASE("several tests in one text, and a process before each line") {
  std::string text;
  for (const auto& [name, busbw] :
       {std::pair("reduce_scatter_perf", "5.24"), std::pair("sendrecv_perf", "10.49")}) {
    text += std::string("# Collective test starting: ") + name + '\n' + kHead + ranks(2) + kTable +
            "  1048576  262144  float  sum  -1  100.0  10.49  " + busbw + "  0  100.0  10.49  " +
            busbw + "  N/A\n";
  }
  std::string tagged;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    tagged += "[1,0]<stdout>:" + text.substr(at, end - at) + '\n';
    at = end + 1;
  }
  const auto tests = load::read_nccl_tests(tagged, "x");
  REQUIRE(tests.results.size() == 4);
  CHECK(tests.results[0].function == "ReduceScatter");
  CHECK(tests.results[2].function == "SendRecv ring");
}

TEST_CASE("results that cannot be trusted are left out, and counted") {
  const std::string begin = "# Collective test starting: all_reduce_perf\n" + kHead;
  const std::string wrong =
      "  1048576  262144  float  sum  -1  100.0  10.49  18.35  3  100.0  10.49  18.35  0\n";
  auto tests = load::read_nccl_tests(begin + ranks(8) + kTable + wrong, "x");
  CHECK(tests.results.size() == 1);  // in place was right
  CHECK(tests.notes.size() == 1);
  // A line that was cut, and one whose time and bandwidth do not agree.
  tests = load::read_nccl_tests(begin + ranks(8) + kTable +
                                    "  1048576  262144  float  sum\n"
                                    "  1048576  262144  float  sum  -1  100.0  99.0  18.35  0\n",
                                "x");
  CHECK(tests.results.empty());
  CHECK(tests.notes.size() == 1);
  // The same table of two ranks would have another busbw: these are not the ranks that ran it.
  CHECK(load::read_nccl_tests(begin + ranks(2) + kTable + wrong, "x").results.empty());
  CHECK(load::read_nccl_tests(
            begin + ranks(8) + kTable + "  1048576  262144  float  sum  -1  100.0  10.49  inf  0\n",
            "x")
            .results.empty());
  // Communicators of one rank have no busbw.
  CHECK(load::read_nccl_tests(begin + ranks(1) + kTable + wrong, "x").results.empty());
  CHECK_FALSE(load::has_nccl_tests("nThread of something else\n"));
}

TEST_CASE("a baseline is found by nccl-tests' size, whatever counts as the message") {
  metrics::Baseline baseline;
  baseline.add("AllGather", 4194304, 4, 30);
  baseline.add("AllGather", 4194304, 4, 20);
  metrics::Row row;
  row.function = "AllGather";
  row.bytes = 1048576;  // what one rank gives: nccl-tests counts all four
  row.ranks = 4;
  metrics::Row other = row;
  other.bytes = 4194304;
  std::vector<metrics::CommunicatorRows> rows(1);
  rows[0].rows = {row, other};
  baseline.take_place_of_peaks(rows);
  REQUIRE(rows[0].rows[0].peak);
  CHECK(rows[0].rows[0].peak->busbw_gb_s == 30);
  CHECK(rows[0].rows[0].peak->bound == "baseline");
  CHECK_FALSE(rows[0].rows[1].peak);
}
