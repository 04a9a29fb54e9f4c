// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/job_dumps/dump_twins.h"

#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/dump/flight_recorder.h"
#include "test/fuzz/add_record.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

constexpr std::int64_t kBegin_ns = 1795375163662698670;

struct Call {
  int record = 0;
  std::int64_t at_ns = 0;  // since the begin
  std::string name = "all_reduce";
  std::string state = "completed";
};

// Adds the dump of a rank of a group of four with these calls.
void add(const std::string& path, std::int64_t rank, const std::vector<Call>& calls,
         model::Traces& traces) {
  std::string text = R"({"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg",)"
                     R"("ranks":"[0, 1, 2, 3]"}},"entries":[)";
  for (const Call& call : calls) {
    text += (call.record == calls.front().record ? "" : ",") +
            (R"({"record_id":)" + std::to_string(call.record)) +
            R"(,"process_group":["0","default_pg"],"profiling_name":"nccl:)" + call.name +
            R"(","collective_seq_id":)" + std::to_string(call.record + 1) +
            R"(,"p2p_seq_id":0,"time_created_ns":)" + std::to_string(kBegin_ns + call.at_ns) +
            R"(,"input_sizes":[[4]],"input_dtypes":["Float"],"output_sizes":[[4]],)"
            R"("output_dtypes":["Float"],"state":")" +
            call.state + "\"}";
  }
  Dump dump;
  REQUIRE(read_dump(text + "]}", rank, dump).empty());
  fuzz::add_record(std::move(dump), path, traces);
}

// The paths of those that are left; `problems` tells the others.
std::vector<std::string> left(model::Traces& traces, model::Problems& problems) {
  leave_out_dump_twins(traces, problems);
  std::vector<std::string> paths;
  for (const model::TraceFile& file : traces.files) {
    paths.push_back(file.path);
  }
  return paths;
}

using Paths = std::vector<std::string>;

TEST_CASE("a dump whose calls have the times of another rank's is a copy") {
  model::Problems problems;
  model::Traces traces;
  add("a_0", 0, {{0, 0}, {1, 10}, {2, 20}}, traces);
  add("a_1", 1, {{0, 3}, {1, 10}, {2, 20}}, traces);  // its first call was later
  add("a_2", 2, {{0, 0}, {1, 11}, {2, 21}}, traces);  // one call at the same time is none
  CHECK(left(traces, problems) == Paths{"a_0", "a_1", "a_2"});
  CHECK(problems.files().empty());
  add("a_3", 3, {{0, 0}, {1, 10}}, traces);
  CHECK(left(traces, problems) == Paths{"a_1", "a_2"});
  REQUIRE(problems.files().size() == 2);
  CHECK(problems.files()[0].reason ==
        "its calls have the times of those in a_3, which has another rank: nothing shows which of "
        "them is right");
}

TEST_CASE("of a dump and its copy the one that shows damage is left out") {
  model::Problems problems;
  model::Traces traces;
  add("a_0", 0, {{0, 0}, {1, 10}, {2, 20}}, traces);
  add("a_1", 1, {{0, 0}, {1, 10}, {2, 20, "all_reduce", "gone"}}, traces);
  CHECK(left(traces, problems) == Paths{"a_0"});
  REQUIRE(problems.files().size() == 1);
  CHECK(problems.files()[0].reason ==
        "its calls have the times of those in a_0, which has another rank and is not damaged");
}

TEST_CASE("two dumps of one process tell the same calls") {
  model::Problems problems;
  model::Traces traces;
  add("early_0", 0, {{0, 0}, {1, 10, "broadcast", "scheduled"}}, traces);
  add("late_0", 0, {{1, 10, "broadcast"}, {2, 20}}, traces);  // the ring has turned
  add("other_0", 0, {{0, 5000}, {1, 5010}}, traces);          // of another job
  CHECK(left(traces, problems) == Paths{"early_0", "late_0", "other_0"});
  add("wrong_0", 0, {{0, 0}, {1, 10}}, traces);
  CHECK(left(traces, problems) == Paths{"other_0"});
  REQUIRE(problems.files().size() == 3);
  CHECK(problems.files()[0].reason ==
        "its record 1 is another call than in wrong_0, which is of the same process: nothing shows "
        "which of them is right");
}

}  // namespace
}  // namespace ringside::load
