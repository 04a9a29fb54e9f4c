// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/flight_recorder.h"

#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/dump/dump_groups.h"
#include "analyzer/model/call_site.h"
#include "test/unit/analyzer/load/dump_text.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

std::string error_of(const std::string& text) {
  Dump dump;
  return read_dump(text, 0, dump);
}

TEST_CASE("ranks of dumps are in their names") {
  CHECK(rank_of_dump("/tmp/nccl_trace_rank_12", "") == 12);
  CHECK(rank_of_dump("/tmp/job1/fr_3.json", "") == 3);
  CHECK(rank_of_dump("7.pkl", "") == 7);
  CHECK_FALSE(rank_of_dump("/tmp/rank_1/trace", ""));
  CHECK_FALSE(rank_of_dump("/tmp/rank_1/", ""));
  CHECK_FALSE(rank_of_dump("trace_99999999999999999999", ""));
  CHECK(rank_of_dump("/tmp/job27", "job2") == 7);
  CHECK_FALSE(rank_of_dump("/tmp/job27", "other"));
  CHECK_FALSE(rank_of_dump("/tmp/job2_7", "job2"));
  CHECK(rank_of_dump("nccl_trace_rank_3.json.gz", "") == 3);
  CHECK(rank_of_dump("nccl_trace_rank_3.gz", "nccl_trace_rank_") == 3);
  CHECK(rank_of_dump("trace-1", "") == 1);
  CHECK_FALSE(rank_of_dump("fr_rank_-1", ""));
  CHECK_FALSE(rank_of_dump("fr_rank_-1", "fr_rank_"));
  CHECK_FALSE(rank_of_dump("-1", ""));
}

TEST_CASE("what begins as a dump") {
  CHECK(begins_as_dump("\x80\x02}("));
  CHECK(begins_as_dump("\x80\x05\x95"));
  CHECK(begins_as_dump("{\"comm_lib_version\":"));
  CHECK(begins_as_dump("{\n  \"entries\": ["));
  CHECK_FALSE(begins_as_dump("{\"schemaVersion\": 1"));
  CHECK_FALSE(begins_as_dump("[{"));
  CHECK_FALSE(begins_as_dump("{"));
  CHECK_FALSE(begins_as_dump(""));
}

TEST_CASE("an entry is a call of a rank of its group") {
  const Dump dump = read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' +
                                 entry_of(1, "a:b:_all_gather_base", 2, 0, scheduled())));
  const model::TraceFile& file = dump.file;
  CHECK(file.process.launcher_rank == 2);
  CHECK_FALSE(file.process.tells_begin);
  CHECK_FALSE(file.process.tells_moment);
  CHECK(file.account.rotated == 0);
  REQUIRE(file.contexts.size() == 1);
  const model::Context& group = file.contexts.begin()->second;
  CHECK(group.name == "default_pg");
  CHECK(group.rank == 1);  // the second of [0, 2, 3]
  CHECK(group.nranks == 3);
  CHECK(group.operations == 2);
  REQUIRE(file.operations.size() == 2);
  const model::Operation first = file.operations[0];
  CHECK(dump.names.text(first.func) == "all_reduce");
  CHECK(dump.names.text(first.datatype) == "Float");
  CHECK(first.seq == 1);
  CHECK(first.count == 12);
  CHECK(first.bytes == 48);
  CHECK(first.state == model::State::kCompleted);
  CHECK_FALSE(first.in_flight);
  CHECK_FALSE(first.start_ns);
  CHECK_FALSE(first.end_ns);
  CHECK(file.process.base_time_s == 1795375163);
  CHECK(first.enqueue_start_ns == 662698670);
  const model::Operation second = file.operations[1];
  CHECK(dump.names.text(second.func) == "_all_gather_base");
  CHECK(second.bytes == 96);  // what all have together: ranks may contribute differently
  CHECK(second.in_flight);
  CHECK(second.state == model::State::kEnqueued);
}

TEST_CASE("a dump of torchcomms counts all calls of the process together") {
  // Numbers as comms/torchcomms/hooks/fr/FlightRecorder.cpp gives them: one count for all groups.
  const auto call = [](int number, const std::string& name, const std::string& group,
                       const std::string& rest) {
    std::string entry = entry_of(number, "nccl:" + name, number, 0, rest);
    const std::string from = R"(["0","default_pg"])";
    const std::size_t at = entry.find(from);
    REQUIRE(at != std::string::npos);
    return entry.replace(at, from.size(), R"([")" + group + R"(","nccl"])");
  };
  std::string text =
      dump_of(call(0, "all_reduce", "0", kFloats) + ',' + call(1, "send", "0", kFloats) + ',' +
              call(2, "all_reduce", "mesh", kFloats) + ',' +
              call(3, "barrier", "0", scheduled() + R"(,"retired":true)"));
  const std::string config = R"("pg_config":{)";
  const std::size_t at = text.find(config);
  REQUIRE(at != std::string::npos);
  text.insert(at + config.size(), R"("mesh":{"name":"mesh","desc":"nccl","ranks":"[2,3]"},)");
  const Dump dump = read(text);
  const model::Operations& operations = dump.file.operations;
  REQUIRE(operations.size() == 4);
  CHECK(operations[0].seq == 0);
  CHECK(operations[1].kind == model::Kind::kPointToPoint);
  CHECK_FALSE(operations[1].peer);
  CHECK_FALSE(operations[1].seq);
  CHECK(operations[2].seq == 0);  // the first of its group
  CHECK(operations[3].seq == 1);  // the second collective of its own
  CHECK(operations[3].state == model::State::kCompleted);
  CHECK_FALSE(operations[3].in_flight);
  CHECK(dump.file.contexts.at(operations[2].context).name == "mesh");
}

TEST_CASE("sends and receives name ranks of the group, or any") {
  const Dump dump = read(dump_of(entry_of(0, "nccl:send 1->0", 0, 1, kFloats) + ',' +
                                 entry_of(1, "gloo:recv 1<-?", 0, 2, kFloats)));
  REQUIRE(dump.file.operations.size() == 2);
  CHECK(dump.names.text(dump.file.operations[0].func) == "Send");
  CHECK(dump.file.operations[0].peer == 0);
  CHECK(dump.file.operations[0].bytes == 48);
  CHECK_FALSE(dump.file.operations[0].seq);
  CHECK(dump.names.text(dump.file.operations[1].func) == "Recv");
  CHECK_FALSE(dump.file.operations[1].peer);
  CHECK(dump.file.operations[1].bytes == 96);
}

TEST_CASE("ranks that the group of a send or receive contradicts") {
  const auto reason = [](const std::string& call, std::int64_t rank) {
    const Dump dump = read(dump_of(entry_of(0, "nccl:" + call, 0, 1, kFloats)), rank);
    CHECK(dump.file.operations.size() + dump.file.bad_lines == 1);
    return dump.problems.lines().empty() ? "" : dump.problems.lines()[0].reason;
  };
  CHECK(reason("send 1->2", 2).empty());
  CHECK(reason("recv 1<-1", 2).empty());  // NCCL allows it
  CHECK(reason("send 1->3", 2) ==
        "the entry is a send 1->3, and its group has 3 ranks; it is left out");
  CHECK(reason("recv 2<-?", 2) ==
        "the entry is a recv 2<-?, and this rank is 1 of its group; it is left out");
}

TEST_CASE("a dump that is another rank's than its name says") {
  const auto read_with = [](const std::string& first, const std::string& second) {
    return read(dump_of(entry_of(0, "nccl:" + first, 0, 1, kFloats) + ',' +
                        entry_of(1, "nccl:" + second, 0, 2, kFloats) + ',' +
                        entry_of(2, "nccl:all_reduce", 1, 2, kFloats)));
  };
  CHECK(read_with("send 2->0", "recv 2<-0").file.operations.empty());
  CHECK(read_with("send 2->0", "recv 2<-0").problems.bad_lines() == 1);
  CHECK(read_with("send 2->0", "all_gather").file.operations.size() == 2);
  CHECK(read_with("send 2->0", "recv 1<-0").file.operations.size() == 2);
}

TEST_CASE("a profiling_name that is none") {
  for (const char* const call : {"",
                                 " ",
                                 "  ",
                                 "\\t",
                                 "\\u0000",
                                 "all_\\u007freduce",
                                 " all_reduce",
                                 "send 1->1e3",
                                 "send 1->0x1",
                                 "send 1->",
                                 "send ->1",
                                 "send -1->1",
                                 "send ?->1",
                                 "send 1->-1",
                                 "send 1-> 1",
                                 "send 1->4294967296",
                                 "send 1<-2",
                                 "recv 1->2",
                                 "recv 1",
                                 "send ",
                                 "sent 1->2"}) {
    const Dump dump = read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' +
                                   entry_of(1, std::string("nccl:") + call, 2, 0, kFloats)));
    INFO(call);
    CHECK(dump.file.operations.size() == 1);
    CHECK(dump.file.bad_lines == 1);
    CHECK(problems_of(dump) == std::vector<std::string>{"2: the entry has no call in its "
                                                        "profiling_name that can be read; it is "
                                                        "left out"});
  }
}

TEST_CASE("a process_group is a name and a description") {
  const auto read_with = [](const std::string& group) {
    std::string entry = entry_of(1, "nccl:all_reduce", 2, 0, kFloats);
    const std::string told = R"(["0","default_pg"])";
    entry.replace(entry.find(told), told.size(), group);
    return read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' + entry));
  };
  for (const char* const group :
       {"null", "0", R"("0")", "[]", R"(["0"])", R"(["0",1])", "[0,1]", R"([["0"],"default_pg"])",
        R"(["0","default_pg","x"])", "{}", R"(["9","nowhere"])", R"(["",""])"}) {
    const Dump dump = read_with(group);
    INFO(group);
    CHECK(dump.file.operations.size() == 1);
    CHECK(dump.file.bad_lines == 1);
  }
  const Dump dump = read_with(R"(["0","nowhere"])");
  CHECK(problems_of(dump) ==
        std::vector<std::string>{
            "2: the entry describes its group as nowhere, and pg_config as default_pg"});
  CHECK(dump.file.contexts.at(1).name == "default_pg");
  CHECK(dump.file.bad_lines == 1);  // it may be of another group, which then lacks it
  CHECK(dump.file.operations.size() == 2);
}

TEST_CASE("a record_id that is damaged may hide another call, and does not make others so") {
  for (const char* const id : {"null", "-1", "7", "9223372036854775807", "\"1\"", "2.0"}) {
    for (int place = 0; place < 3; ++place) {
      std::string entries;
      for (int record = 0; record < 4; ++record) {
        std::string entry = entry_of(record, "nccl:all_reduce", record + 1, 0, kFloats);
        if (record == place) {
          entry.replace(entry.find(':') + 1, 1, id);
        }
        entries += (record > 0 ? "," : "") + entry;
      }
      const Dump dump = read(dump_of(entries));
      INFO(id << " at " << place);
      CHECK(problems_of(dump) ==
            std::vector<std::string>{std::to_string(place + 1) +
                                     ": the record_id does not follow: another call may have been "
                                     "here"});
      CHECK(dump.file.operations.size() == 4);
      CHECK(dump.file.doubtful.size() == 1);
      CHECK(dump.file.bad_lines == 1);
      CHECK(dump.file.account.rotated == 0);
    }
  }
}

TEST_CASE("a dump without entries has lost them unless nothing was enqueued") {
  const auto dump_with = [](const std::string& entries, const std::string& status) {
    return read(dump_of(entries).insert(1, R"("pg_status":)" + status + ','));
  };
  const auto enqueued = [](const std::string& number) {
    return R"({"0":{"last_enqueued_collective":)" + number + R"(,"last_started_collective":"-1"}})";
  };
  for (const char* const status : {"null", "{}", "\"x\"", "[]", "3", R"({"0":{}})", R"({"0":4})"}) {
    const Dump dump = dump_with("", status);
    INFO(status);
    CHECK(dump.file.bad_lines == 1);
    CHECK(problems_of(dump) ==
          std::vector<std::string>{"0: there are no entries, and no pg_status of all groups that "
                                   "can be read: whether this rank has called anything is not "
                                   "known"});
  }
  CHECK(dump_with("", enqueued("\"4\"")).file.bad_lines == 1);
  CHECK(dump_with("", enqueued("4")).file.bad_lines == 1);
  CHECK(dump_with("", enqueued("-1")).file.bad_lines == 0);
  // Rank 3 is in two groups, of which this tells one.
  CHECK(read(dump_of("").insert(1, R"("pg_status":)" + enqueued("-1") + ','), 3).file.bad_lines ==
        1);
  // nccl2 counts from 0, so that this may be nothing.
  CHECK(dump_with("", enqueued("0")).file.bad_lines == 0);
  // A number that is behind the last entry tells that more is lost.
  std::string entry = entry_of(0, "nccl:all_reduce", 1, 0, kFloats);
  CHECK(dump_with(entry, enqueued("4")).file.bad_lines == 0);  // of which group is not told
  entry.insert(1, R"("pg_id":0,)");
  CHECK(dump_with(entry, enqueued("1")).file.bad_lines == 0);
  CHECK(dump_with(entry, enqueued("4")).file.bad_lines == 1);
}

TEST_CASE("damage of pg_config and pg_status on which nothing rests") {
  const auto problems_with = [](const std::string& from, const std::string& to) {
    std::string text = dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats));
    text.replace(text.find(from), from.size(), to);
    const Dump dump = read(text);
    CHECK(dump.file.operations.size() == 1);
    CHECK(dump.file.bad_lines == 0);
    return problems_of(dump);
  };
  using Texts = std::vector<std::string>;
  CHECK(problems_with(R"("name":"0")", R"("name":0)") ==
        Texts{"0: pg_config has no name, or another one, in group 0"});
  CHECK(problems_with(R"("desc":"default_pg")", R"("desc":[])") ==
        Texts{"0: pg_config has no desc that can be read of group 0"});
  CHECK(problems_with(R"("version")", R"("pg_status":[],"version")") ==
        Texts{"0: pg_status is no dict"});
}

TEST_CASE("lists of ranks") {
  using Ranks = std::vector<std::uint32_t>;
  CHECK(ranks_in("[0, 2, 10]") == Ranks{0, 2, 10});
  CHECK(ranks_in("") == Ranks());
  CHECK_FALSE(ranks_in("[0, 2, 2]"));
  CHECK_FALSE(ranks_in("[0, ?]"));
  CHECK_FALSE(ranks_in("[0, -1]"));
  CHECK_FALSE(ranks_in("[0, 4294967296]"));
}

TEST_CASE("a ring that has lost its first entries did not begin with the group") {
  const Dump dump = read(dump_of(entry_of(5, "nccl:coalesced", 3, 1, kFloats) + ',' +
                                 entry_of(6, "nccl:all_reduce", 4, 1, kFloats)));
  CHECK(dump.file.account.rotated == 5);
  CHECK(dump.file.windows.begin()->first == 2);
  CHECK(dump.file.operations.size() == 1);  // the group's calls are lost, and it is none itself
}

TEST_CASE("sizes that are not known are left out") {
  const auto bytes_of = [](const std::string& call, const std::string& tensors) {
    const Dump dump = read(dump_of(entry_of(0, call, 1, 0, tensors + R"(,"state":"completed")")));
    return dump.file.operations[0].bytes;
  };
  const std::string huge = R"("input_sizes":[[4611686018427387904,4]],"input_dtypes":["Float"])";
  CHECK_FALSE(bytes_of("nccl:all_reduce", huge));
  CHECK_FALSE(bytes_of("nccl:all_reduce", R"("input_sizes":[[4]],"input_dtypes":["QInt3"])"));
  CHECK_FALSE(bytes_of("nccl:all_reduce", R"("input_sizes":[[-4]],"input_dtypes":["Float"])"));
  CHECK_FALSE(bytes_of("nccl:all_reduce", R"("input_sizes":7,"input_dtypes":["Float"])"));
  CHECK_FALSE(bytes_of("nccl:all_to_all", kFloats));
  CHECK(bytes_of("nccl:allreduce_coalesced",
                 R"("input_sizes":[[4],[2,2]],"input_dtypes":["Float","Double"])") == 48U);
}

TEST_CASE("an operation has the stack of its call, and the program's line of it") {
  const std::string stack =
      R"("frames":[{"name":"all_reduce","filename":"/x/site-packages/torch/distributed/a.py",)"
      R"("line":7},{"name":"step","filename":"/job/train.py","line":17}],)";
  const Dump dump = read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, stack + kFloats) + ',' +
                                 entry_of(1, "nccl:all_reduce", 2, 0, kFloats)));
  REQUIRE(dump.file.operations.size() == 2);
  const std::string_view called_by = dump.names.text(dump.file.operations[0].called_by);
  CHECK(called_by ==
        "/x/site-packages/torch/distributed/a.py:7 in all_reduce\n/job/train.py:17 in step");
  CHECK(model::frames_of(called_by).size() == 2);
  CHECK(model::call_site(called_by) == "train.py:17 in step");
  CHECK(dump.file.operations[1].called_by == model::kNoName);
  CHECK(model::call_site("") == "");
  CHECK(model::call_site("/lib/python3.11/contextlib.py:81 in inner\n/a:b/c.py:2 in d::e/f") ==
        "c.py:2 in d::e/f");
  CHECK(model::call_site("<frozen runpy>:1 in _run\n/x/torch/distributed/b.py:3 in g") ==
        "<frozen runpy>:1 in _run");
  CHECK(model::call_site("/opt/pytorch/torch/nn/a.py:3 in forward\n/home/pytorch/b.py:4 in f") ==
        "b.py:4 in f");
}

// An entry with another key in the place of one that it should have.
std::string misspelt(std::string entry, const std::string& key) {
  const std::size_t at = entry.find('"' + key + '"');
  REQUIRE(at != std::string::npos);
  return entry.insert(at + 1, "x");
}

TEST_CASE("an entry without one of its keys is doubtful, and says which") {
  for (const char* const key : {"input_sizes", "input_dtypes", "output_sizes", "output_dtypes",
                                "collective_seq_id", "p2p_seq_id"}) {
    const Dump dump = read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' +
                                   misspelt(entry_of(1, "nccl:all_reduce", 2, 0, kFloats), key) +
                                   ',' + entry_of(2, "nccl:all_reduce", 3, 0, kFloats)));
    INFO(key);
    const bool has_number = key != std::string("collective_seq_id");
    CHECK(problems_of(dump) ==
          std::vector<std::string>{"2: the entry has no " + std::string(key) +
                                   " that can be read; " +
                                   (has_number ? "whether the ranks agree in its call is not known"
                                               : "another call may have been here")});
    REQUIRE(dump.file.operations.size() == 3);
    CHECK(dump.file.operations[1].seq == 2);  // told, or between its neighbours
    CHECK(dump.file.doubtful == std::vector<std::uint64_t>{1});
    CHECK(dump.file.bad_lines == (has_number ? 0 : 1));
  }
  const auto without_types = [](const char* version) {
    return read(
        dump_of(misspelt(misspelt(entry_of(0, "nccl:all_reduce", 1, 0, kFloats), "input_dtypes"),
                         "output_dtypes"),
                version));
  };
  CHECK(without_types("2.1").file.doubtful.empty());
  CHECK(without_types("2.2").file.doubtful.size() == 1);
}

TEST_CASE("a number that cannot be that of the call is none") {
  const auto read_with = [](const std::string& number, int next) {
    std::string entry = entry_of(1, "nccl:all_reduce", 2, 0, kFloats);
    const std::string told = R"("collective_seq_id":2)";
    entry.replace(entry.find(told), told.size(), R"("collective_seq_id":)" + number);
    return read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' + entry + ',' +
                        entry_of(2, "nccl:all_reduce", next, 0, kFloats)));
  };
  for (const char* const number :
       {"-2", "\"2\"", "2.0", "null", "1001", "1000000000", "9223372036854775807",
        "18446744073709551615", "0", "1", "3", "7", "1000"}) {
    const Dump dump = read_with(number, 3);
    INFO(number);
    CHECK(dump.file.operations[1].seq == 2);
    CHECK(dump.file.doubtful == std::vector<std::uint64_t>{1});
    CHECK(dump.problems.bad_lines() == 1);
    CHECK(dump.file.bad_lines == 1);  // another call may have been there
  }
  // The application may have made calls that were not recorded.
  CHECK(read_with("1000", 1001).file.doubtful.empty());
  CHECK(read_with("5000", 5001).file.doubtful.empty());
}

TEST_CASE("records that are missing in the middle are not recorded") {
  const Dump dump = read(dump_of(entry_of(0, "nccl:all_reduce", 1, 0, kFloats) + ',' +
                                 entry_of(3, "nccl:all_reduce", 4, 0, kFloats) + ',' +
                                 entry_of(5, "nccl:all_reduce", 6, 0, kFloats) + ',' +
                                 entry_of(6, "nccl:all_reduce", 7, 0, kFloats) + ',' +
                                 entry_of(5, "nccl:all_reduce", 8, 0, kFloats)));
  CHECK(problems_of(dump) ==
        std::vector<std::string>{
            "2: records 1 to 2 are missing before this entry: their calls are not recorded",
            "3: record 4 is missing before this entry: their calls are not recorded",
            "5: the entry has the record_id 5 of one before it; it is left out"});
  CHECK(dump.file.bad_lines == 3);
  CHECK(dump.file.operations.size() == 4);
  CHECK(dump.file.doubtful == std::vector<std::uint64_t>{5});
}

TEST_CASE("what is no dump, or has entries that say nothing") {
  CHECK(error_of("{}") == "no Flight Recorder dump: it has no list of entries");
  CHECK(error_of(R"({"entries":[]})") == "no Flight Recorder dump: it does not name its version");
  CHECK(error_of(dump_of("", "2")) ==
        "the dump's version is \"2\", and not two numbers with a dot between them, as 2.10");
  CHECK(error_of(dump_of("", "1.5")).starts_with("version 1.5 of "));
  CHECK(error_of(dump_of("", "3.0")).starts_with("version 3.0 of "));
  CHECK(error_of(dump_of("", "2.9")).empty());
  CHECK(error_of("{\"entries\":").starts_with("no JSON that can be read: "));
  const Dump dump = read(dump_of(R"({"state":"completed"},5,)" +
                                 entry_of(2, "nccl:all_reduce", 1, 0, R"("state":"gone")")));
  CHECK(dump.file.operations.empty());
  CHECK(dump.file.bad_lines == 3);
  CHECK(dump.problems.bad_lines() == 3);
}

}  // namespace
}  // namespace ringside::load
