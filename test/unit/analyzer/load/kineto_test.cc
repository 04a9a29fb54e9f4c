// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto/kineto.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

#include "analyzer/load/kineto/kineto_items.h"
#include "analyzer/load/kineto/kineto_trace.h"
#include "analyzer/model/kineto/nccl_kernel.h"
#include "test/unit/catch.h"

using ringside::load::KinetoFile;
using ringside::load::NcclKernel;
using ringside::model::nccl_function_of_kernel;

namespace {

// A file with this text, while it lives.
class Document {
 public:
  explicit Document(const std::string& text) {
    char name[] = "/tmp/ringside-kineto-XXXXXX";
    close(mkstemp(name));
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~Document() { std::remove(path_.c_str()); }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("functions of kernels") {
  CHECK(nccl_function_of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)") ==
        "AllReduce");
  CHECK(nccl_function_of_kernel("ncclDevKernel_AllGather_RING_LL(x)") == "AllGather");
  CHECK(nccl_function_of_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)") == "SendRecv");
  CHECK(nccl_function_of_kernel("ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_f32(x)") ==
        "AllReduce");
  CHECK(nccl_function_of_kernel("ncclDevKernel_Generic_4(x)") == ringside::model::kAnyFunction);
  CHECK(nccl_function_of_kernel("ncclAllReduceRingLLKernel_sum_f16(ncclColl)") == "AllReduce");
  CHECK(nccl_function_of_kernel("ncclReduceScatterTreeLLKernel_sum_f16(x)") == "ReduceScatter");
  CHECK(nccl_function_of_kernel("mscclKernel_Sum_half_LL(x)") == ringside::model::kAnyFunction);
  CHECK(nccl_function_of_kernel("ncclDevKernel_Reduced_x").empty());
  CHECK(nccl_function_of_kernel("gemm_ncclDevKernel_AllReduce").empty());
}

TEST_CASE("a trace of PyTorch's profiler") {
  const Document document(R"json({
    "schemaVersion": 1,
    "distributedInfo": {"backend": "nccl", "rank": 3},
    "baseTimeNanoseconds": 1000000000000000000,
    "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 77, "tid": 77, "ts": 1.001, "dur": 2},
      {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)",
       "pid": 0, "tid": 7, "ts": 4294967296000.125, "dur": 10.5,
       "args": {
  "Collective name" : "_reduce_scatter_base",
                      "dtype" : "BFloat16",
                                "In msg nelems" : 4096,
                                "Out msg nelems" : 1024}},
      {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
       "pid": 0, "tid": 7, "ts": 2000.001, "dur": 10.5,
       "args": {"Collective name": "allreduce_coalesced", "dtype": "Float", "In msg nelems": 5}},
      {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ts": -5},
      7]
})json");
  KinetoFile file;
  std::vector<NcclKernel> kernels;
  REQUIRE_FALSE(file.read_kernels(document.path(), kernels));
  CHECK(file.rank() == 3);
  CHECK(file.pid() == 77);
  CHECK(file.damaged() == 1);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].func == "AllReduce");
  CHECK_FALSE(kernels[0].bytes);
  CHECK(kernels[1].event == 1);
  CHECK(kernels[1].start_ns == 1'000'000'000'000'000'000 + 4'294'967'296'000'125);
  CHECK(kernels[1].end_ns == kernels[1].start_ns + 10'500);
  CHECK(kernels[1].bytes == 2048);
}

TEST_CASE("what is no trace of PyTorch's profiler") {
  const auto read = [](const std::string& path) {
    return KinetoFile().read(path, [](std::size_t, const auto&) {});
  };
  CHECK(read("/nowhere/at/all"));
  CHECK(read(Document("").path()));
  CHECK(read(Document("[]").path()));
  CHECK(read(Document("{}").path()));
  CHECK(read(Document("{\"traceEvents\": 5}").path()));
  CHECK(read(Document("{\"traceEvents\": []").path()));
  CHECK(read(Document("{\"traceEvents\": [{\"ph\"").path()));
  CHECK(read(Document("{\"traceEvents\": [{} {}]}").path()));
  CHECK(read(Document("{\"traceEvents\": [{}, {}]} 1").path()));
  CHECK_FALSE(read(Document("{\"traceEvents\": [], \"distributedInfo\": 7}\n").path()));
}

TEST_CASE("the head of a trace may stand behind its events") {
  const Document document(R"json({"traceEvents": [{"ts": 1}], "distributedInfo": {"rank": 5,
    "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 4, 5]},
                  {"pg_name": "3", "ranks": "[4, 5]"}, 9]},
    "baseTimeNanoseconds": 12})json");
  KinetoFile file;
  std::size_t events = 0;
  REQUIRE_FALSE(file.read(document.path(), [&](std::size_t, const auto& event) {
    CHECK(KinetoFile::since_base_ns(event) == 1000);
    ++events;
  }));
  CHECK(events == 1);
  CHECK(file.rank() == 5);
  CHECK(file.base_ns() == 12);
  REQUIRE(file.groups().size() == 2);
  CHECK(file.groups()[0].description == "default_pg");
  CHECK(file.groups()[0].ranks == std::vector<std::int64_t>{0, 4, 5});
  CHECK(file.groups()[1].name == "3");
  CHECK(file.groups()[1].ranks == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("items of a trace, whatever is read at once") {
  const std::string text =
      R"( {"a\"b": "x]}\\" , "n":5,"traceEvents" : [ {"q":"{\\\"["},7 ,[1,{"s":"\""}],"]"] ,"e":null})";
  const Document document(text);
  for (const std::size_t chunk_bytes : {1U, 2U, 3U, 7U, 64U, 4096U}) {
    ringside::load::KinetoItems items(chunk_bytes);
    REQUIRE_FALSE(items.open(document.path()));
    std::string found;
    for (ringside::load::KinetoItem item; items.next(item);) {
      found += item.is_event ? "#" : std::string(item.key) + "=";
      found += std::string(item.text) + "\n";
    }
    CHECK(items.error().value_or("") == "");
    CHECK(items.has_events());
    CHECK(found == R"(a\"b="x]}\\"
n=5
#{"q":"{\\\"["}
#7
#[1,{"s":"\""}]
#"]"
e=null
)");
  }
}

// Values of all lengths, so that quotes, brackets and backslashes are at each place of the blocks
// in which they are looked for.
TEST_CASE("long items of a trace end where they end") {
  std::string text = "{\"traceEvents\":[";
  std::string expected;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::string filling(i, i % 3 == 0 ? '}' : ' ');
    const std::string item = R"({"args": {"Input Dims": [[1024, 512], [96], []], "a": ")" +
                             filling + (i % 2 == 0 ? R"(]}"})" : R"(\\\"}]\\"})") +
                             R"(, "ts": 12.5, "b": ")" + filling + R"("})";
    text += (i == 0 ? "" : ",") + item;
    expected += item + "\n";
  }
  const Document document(text + "]}");
  for (const std::size_t chunk_bytes : {1U, 63U, 64U, 65U, 100'000U}) {
    ringside::load::KinetoItems items(chunk_bytes);
    REQUIRE_FALSE(items.open(document.path()));
    std::string found;
    for (ringside::load::KinetoItem item; items.next(item);) {
      found += std::string(item.text) + "\n";
    }
    CHECK_FALSE(items.error());
    CHECK(found == expected);
  }
}

TEST_CASE("an item that is too long is left out, and those around it are there") {
  const Document document("{\"traceEvents\":[{\"a\":1},{\"b\":[" + std::string(400, '7') +
                          ",2]},{\"c\":3}]}");
  ringside::load::KinetoItems items(16, 100);
  REQUIRE_FALSE(items.open(document.path()));
  std::string found;
  for (ringside::load::KinetoItem item; items.next(item);) {
    found += item.is_too_long ? "long" : std::string(item.text);
  }
  CHECK_FALSE(items.error());
  CHECK(found == "{\"a\":1}long{\"c\":3}");
}

TEST_CASE("a trace as columns, with Python's functions or without") {
  const Document document(R"json({"distributedInfo": {"rank": 1}, "traceEvents": [
    {"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 7, "tid": 8, "ts": 3, "dur": 2},
    {"ph":"X","cat":"python_function","name":"b.py(1): g","pid":7,"tid":8,"ts":2,"dur":2},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 1, "dur": -9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 1, "dur": "9"},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 1},
    {"cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 1, "dur": 9},
    {"ph": "i", "name": "Record Window End", "pid": 7, "tid": 8, "ts": 1},
    {"ph": "s", "cat": "ac2g", "id": 5, "pid": 7, "tid": 8, "ts": 2}],
    "baseTimeNanoseconds": 1000})json");
  for (const bool wants_python : {false, true}) {
    ringside::model::KinetoTrace trace;
    REQUIRE_FALSE(ringside::load::read_kineto_trace(document.path(), trace, wants_python));
    CHECK(trace.rank == 1);
    CHECK(trace.damaged == 5);  // one has no thread, three have no duration, one has no phase
    REQUIRE(trace.operators.size() == 1);
    CHECK(trace.operators[0].start_ns == 2000);
    CHECK(trace.operators[0].end_ns == 11'000);
    REQUIRE(trace.python.size() == (wants_python ? 2 : 0));
    if (wants_python) {
      CHECK(trace.names.text(trace.python[0].name) == "b.py(1): g");
    }
  }
}

TEST_CASE("the base of times is a number, in whatever form") {
  const auto base_of = [](const std::string& value) -> std::optional<std::int64_t> {
    const Document document("{\"baseTimeNanoseconds\": " + value + ", \"traceEvents\": []}");
    KinetoFile file;
    const auto error = file.read(document.path(), [](std::size_t, const auto&) {});
    return error ? std::nullopt : std::optional(file.base_ns());
  };
  for (const std::string value : {"1790857026000000000", "1790857026000000000.0", "1.790857026e18",
                                  "\"1790857026000000000\"", "\"1.790857026e18\""}) {
    CHECK(base_of(value) == 1'790'857'026'000'000'000);
  }
  CHECK(base_of("0") == 0);
  for (const std::string value :
       {"-1", "1e30", "null", "[1]", "\"\"", "\"x\"", "NaN", "\"\\\"1\\\"\""}) {
    CHECK_FALSE(base_of(value));
  }
}

TEST_CASE("NaN and Infinity, as Python writes them, cost nothing but themselves") {
  const Document document(R"json({"distributedInfo": {"loss": NaN, "rank": 1}, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "\\\"NaN", "pid": 7, "tid": 8, "ts": 1, "dur": 9,
     "args": {"External id": 5, "a": [Infinity, -Infinity, NaN]}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": NaN, "dur": 9}]})json");
  ringside::model::KinetoTrace trace;
  REQUIRE_FALSE(ringside::load::read_kineto_trace(document.path(), trace));
  CHECK(trace.rank == 1);
  CHECK(trace.damaged == 1);
  REQUIRE(trace.operators.size() == 1);
  CHECK(trace.names.text(trace.operators[0].name) == "\\\"NaN");
  CHECK(trace.operators[0].external_id == 5);
}

TEST_CASE("work of a GPU without arguments, and an event without a category, are counted") {
  const Document document(R"json({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 1, "dur": 9, "args": 5},
    {"ph": "X", "name": "aten::add", "pid": 7, "tid": 8, "ts": 1, "dur": 9, "args": {}},
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
     "ts": 1, "dur": 9}]})json");
  ringside::model::KinetoTrace trace;
  REQUIRE_FALSE(ringside::load::read_kineto_trace(document.path(), trace));
  CHECK(trace.damaged == 3);
}
