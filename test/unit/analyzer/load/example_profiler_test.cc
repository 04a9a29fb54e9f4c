// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "analyzer/load/durations.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

// Lines as the example profiler of NCCL 2.30.7 writes them; `ts` is in microseconds.
std::string line(const std::string& name, const std::string& kind, char phase,
                 const std::string& ts, const std::string& args = "") {
  return R"({"name": ")" + name + R"(", "cat": ")" + kind + R"(", "ph": ")" + phase +
         R"(", "id": 0, "pid": 7, "tid": 1, "ts": )" + ts +
         (args.empty() ? "" : ", \"args\": {" + args + '}') + "},\n";
}

std::string collective(int number, const std::string& inner, const std::string& ts = "10.0") {
  return line("AllReduce", "COLL", 'b', ts,
              R"("SeqNum": )" + std::to_string(number) +
                  R"(, "CommHash": 16906341341967358517, "Rank": 1, "Count": 1024, )"
                  R"("Datatype": "ncclFloat32", "Algorithm": "RING", "Protocol": "LL", )"
                  R"("nChannels": 2)") +
         inner + line("AllReduce", "COLL", 'e', "12.0");
}

std::string kernel(int channel, const std::string& from, const std::string& to,
                   const std::string& ticks, const std::string& inner = "") {
  return line("KernelCh", "GPU", 'b', from,
              "\"Channel\": " + std::to_string(channel) + ", " + ticks) +
         inner + line("KernelCh", "GPU", 'e', to);
}

std::string proxy(int channel, const std::string& from, const std::string& to) {
  const std::string args = "\"Channel\": " + std::to_string(channel) + R"(, "Peer": 0, "Steps": 2)";
  return line("ScheduleSend", "PROXY", 'b', from, args) + line("ScheduleSend", "PROXY", 'e', from) +
         line("ProgressSend", "PROXY", 'b', from, args) + line("ProgressSend", "PROXY", 'e', to);
}

std::string file_of(const std::string& lines) {
  return "[\n" + line("Group API", "GROUP_API", 'b', "9.0", R"("groupApiId": 0, "groupDepth": 1)") +
         lines + line("Group API", "GROUP_API", 'e', "13.0") + "{}]\n";
}

Dump read_events(const std::string& text) {
  Dump records;
  REQUIRE(read_durations(text, records).empty());
  return records;
}

const std::string kTicks0 = R"("StartGpuClk": 5000, "StopGpuClk": 9000)";
const std::string kTicks1 = R"("StartGpuClk": 5500, "StopGpuClk": 9700)";
const std::string kNoStop = R"("StartGpuClk": 5500, "StopGpuClk": 0)";

TEST_CASE("a call of the example profiler has its terms, and the time of all its channels") {
  const std::string text = file_of(
      collective(3, kernel(0, "20.5", "29.0", kTicks0) + kernel(1, "21.0", "30.0", kTicks1)));
  CHECK(begins_as_durations(std::string_view(text).substr(0, 64)));
  const Dump records = read_events(text);
  CHECK(records.file.closed);
  CHECK(records.file.bad_lines == 0);
  CHECK(records.file.contexts.at(1).comm == "0xea9f63e07b771a35");
  CHECK(records.file.contexts.at(1).rank == 1U);
  CHECK_FALSE(records.file.contexts.at(1).nranks);
  REQUIRE(records.file.operations.size() == 1);
  const model::Operation operation = records.file.operations[0];
  CHECK(records.names.text(operation.func) == "AllReduce");
  CHECK(records.names.text(operation.datatype) == "ncclFloat32");
  CHECK(operation.seq == 3U);
  CHECK(operation.bytes == 4096U);
  CHECK(operation.times_from == model::TimesFrom::kGpu);
  CHECK(operation.end_ns == 4700);                   // from 5000 to 9700
  CHECK(records.file.operations_written == 1U + 3);  // 0 to 2 were not kept
}

TEST_CASE("a lost stop of a kernel channel is replaced by the network's end, or leaves no time") {
  const std::string first = kernel(0, "20.5", "29.0", kTicks0, proxy(0, "19.0", "28.0"));
  const Dump with_network = read_events(
      file_of(collective(0, first + kernel(1, "21.0", "0.0", kNoStop, proxy(1, "19", "31.25")))));
  CHECK(with_network.file.operations[0].times_from == model::TimesFrom::kProxy);
  CHECK(with_network.file.operations[0].end_ns == 10'750);  // from 20.5 to 31.25 us
  CHECK(with_network.file.operations[0].gpu_rejected == 1);
  for (const std::string& second :
       {kernel(1, "21.0", "0.0", kNoStop),                           // nothing tells its end
        kernel(1, "21.0", "0.0", kNoStop, proxy(1, "19.0", "0.0")),  // nor does this
        std::string()}) {                                            // the channel is not there
    const Dump without = read_events(file_of(collective(0, first + second)));
    CHECK_FALSE(without.file.operations[0].end_ns);
    CHECK(without.file.operations[0].state == model::State::kEnqueued);
  }
}

TEST_CASE("lines of an earlier call that the example profiler prints again are left out") {
  const Dump records = read_events(file_of(collective(
      0, kernel(0, "20.5", "29.0", kTicks0) + kernel(1, "3.0", "4.0", kTicks1), "10.0")));
  CHECK(records.file.operations[0].gpu_rejected == 1);
  CHECK_FALSE(records.file.operations[0].end_ns);
}

TEST_CASE("calls without a number, twice there or damaged are not taken") {
  const std::string good = collective(0, "");
  const Dump records = read_events(
      file_of(good + good + line("AllReduce", "COLL", 'b', "1.0", R"("SeqNum": 1, "CommHash": 1)") +
              line("AllGather", "CE_COLL", 'b', "1.0", R"("eventId": 1, "count": 4)") + "oops\n"));
  CHECK(records.file.operations.size() == 1);
  CHECK(records.file.bad_lines == 4);
}

TEST_CASE("the example profiler's older and broken forms are read, too") {
  // NCCL 2.28 writes no quotation marks in the first, 2.23 numbers for datatypes.
  const std::string text =
      "[\n" + line("Group", "GROUP", 'b', "1.0", R"("groupId": 0)") +
      line("AllReduce", "COLL_API", 'b', "0.0",
           R"("count": 4, "datatype": ncclInt8, "Stream": 0x5)") +
      line("ncclSend", "P2P", 'b', "2.0",
           R"("CommHash": 0, "Rank": 0, "Peer": 1, "Count": 4, "Datatype": 7)") +
      line("ncclSend", "P2P", 'e', "3.0");
  const Dump records = read_events(text + "{}]\n");
  REQUIRE(records.file.operations.size() == 1);
  const model::Operation send = records.file.operations[0];
  CHECK(records.names.text(send.func) == "Send");
  CHECK(send.peer == 1U);
  CHECK(send.bytes == 16U);
  CHECK_FALSE(records.file.contexts.at(1).comm);
  const Dump torn = read_events(text);
  CHECK(torn.file.bad_lines == 1);  // its end is not there
  CHECK_FALSE(torn.file.closed);
}

TEST_CASE("a trace of the example profiler without events says how to get some") {
  Dump records;
  CHECK(begins_as_durations("[\n{}]\n"));
  CHECK(read_durations("[\n{}]\n", records).find("NCCL_PROFILE_EVENT_MASK") != std::string::npos);
  CHECK_FALSE(begins_as_durations("[\n{\"name\":\"ringside_trace\",\"ph\":\"M\""));
  CHECK_FALSE(begins_as_durations("[\n{\"name\": \"x\", \"cat\": \"other\", \"ph\": \"b\""));
}

TEST_CASE("a time or a datatype with something behind its number is none") {
  for (const char* const ts : {"10abc.9", "10.9x", "10.1234y", "10.", "abc", "1e3"}) {
    CAPTURE(ts);
    const Dump records = read_events(file_of(collective(0, "") + collective(1, "", ts)));
    CHECK(records.file.bad_lines == 1);
    CHECK(records.file.operations.size() == 1);
  }
  std::string text = file_of(collective(0, ""));
  const std::string name = R"("ncclFloat32")";
  text.replace(text.find(name), name.size(), R"("2abc")");
  const Dump records = read_events(text);
  CHECK(records.names.text(records.file.operations[0].datatype) == "2abc");
  CHECK_FALSE(records.file.operations[0].bytes);
}

}  // namespace
}  // namespace ringside::load
