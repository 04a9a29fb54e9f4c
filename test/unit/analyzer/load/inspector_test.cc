// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "analyzer/load/durations.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

// A line as NCCL 2.28.9's Inspector writes it, with this record behind header and metadata.
std::string line_of(const std::string& record, int pid = 7, int rank = 1) {
  return R"({"header":{"id":"0xab","rank":)" + std::to_string(rank) +
         R"(,"n_ranks":4,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0",)"
         R"("git_rev":"","rec_mechanism":"nccl_profiler_interface",)"
         R"("dump_timestamp_us":1795480075692599,"hostname":"node1","pid":)" +
         std::to_string(pid) + "}," + record + "}\n";
}

std::string collective(const std::string& function, int number, int duration_us,
                       const std::string& source = R"("coll_timing_source":"kernel_gpu",)") {
  return R"("coll_perf":{"coll":")" + function + R"(","coll_sn":)" + std::to_string(number) +
         R"(,"coll_msg_size_bytes":1048576,"coll_exec_time_us":)" + std::to_string(duration_us) +
         "," + source + R"("coll_algobw_gbs":1.0,"coll_busbw_gbs":1.5})";
}

Dump read_lines(const std::string& text) {
  Dump records;
  REQUIRE(read_durations(text, records).empty());
  return records;
}

TEST_CASE("Inspector's lines become operations that have durations and no starts") {
  const std::string text = line_of(collective("AllReduce", 0, 250));
  CHECK(begins_as_durations(std::string_view(text).substr(0, 64)));
  const Dump records = read_lines(text);
  CHECK_FALSE(records.file.process.tells_start);
  CHECK(records.file.process.host == "node1");
  CHECK(records.file.process.pid == 7);
  CHECK(records.file.contexts.at(1).comm == "0xab");
  CHECK(records.file.contexts.at(1).rank == 1U);
  CHECK(records.file.contexts.at(1).nranks == 4U);
  REQUIRE(records.file.operations.size() == 1);
  const model::Operation operation = records.file.operations[0];
  CHECK(records.names.text(operation.func) == "AllReduce");
  CHECK(operation.seq == 0U);
  CHECK(operation.bytes == 1048576U);
  CHECK(operation.end_ns == 250'000);
  CHECK(operation.times_from == model::TimesFrom::kGpu);
}

TEST_CASE("a time that begins with the call says nothing of how long Inspector's data took") {
  const Dump records = read_lines(
      line_of(collective("AllReduce", 0, 5, R"("coll_timing_source":"collective_cpu",)")) +
      line_of(collective("AllReduce", 1, 5, "")) +
      line_of(collective("AllReduce", 2, 5, R"("coll_timing_source":"kernel_cpu",)")));
  CHECK_FALSE(records.file.operations[0].end_ns);
  CHECK_FALSE(records.file.operations[1].end_ns);
  CHECK(records.file.operations[2].end_ns == 5'000);
  CHECK(records.file.operations[2].gpu_polled);
}

TEST_CASE("absent numbers of Inspector's lines are lost calls") {
  const std::string send =
      R"("p2p_perf":{"p2p":"Send","p2p_sn":4,"p2p_peer":3,"p2p_msg_size_bytes":64,)"
      R"("p2p_exec_time_us":9,"p2p_timing_source":"kernel_gpu"})";
  const Dump records =
      read_lines(line_of(collective("AllReduce", 3, 1)) +        // 0 to 2 are absent
                 line_of(collective("AllGather", 0, 1)) +        // none is
                 line_of(collective("AllReduce", 4, 1), 7, 2) +  // another rank: 0 to 3
                 line_of(send));                                 // 1 to 3, counted from 1
  CHECK(records.file.operations.size() == 4);
  CHECK(records.file.operations_written == 4U + 3 + 4 + 3);
  CHECK(records.file.contexts.size() == 2);
  CHECK(records.file.operations[3].peer == 3U);
}

TEST_CASE("lines that are not Inspector's, or another process's, are left out and counted") {
  const std::string good = line_of(collective("AllReduce", 0, 1));
  const Dump records = read_lines(good + "{}\n" + line_of(collective("AllReduce", 1, 1), 8) +
                                  line_of(collective("AllReduce", -1, 1)) +
                                  line_of(collective("AllReduce", 2, 1), 7, 4) +
                                  line_of(R"("other":{})") + good.substr(0, 100));
  CHECK(records.file.operations.size() == 1);
  CHECK(records.file.bad_lines == 5);
  CHECK(records.problems.lines().size() == 5);
  CHECK(records.file.torn);
  Dump none;
  CHECK(read_durations("{\"header\":{}}\n", none).find("no line") != std::string::npos);
}

}  // namespace
}  // namespace ringside::load
