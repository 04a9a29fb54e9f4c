// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

#include "test/unit/catch.h"

using ringside::load::KinetoFile;
using ringside::load::nccl_function_of_kernel;

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
  CHECK(nccl_function_of_kernel("ncclDevKernel_Generic(x)").empty());
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
  REQUIRE_FALSE(file.open(document.path()));
  CHECK(file.rank() == 3);
  CHECK(file.pid() == 77);
  const auto kernels = file.kernels();
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].func == "AllReduce");
  CHECK_FALSE(kernels[0].bytes);
  CHECK(kernels[1].event == 1);
  CHECK(kernels[1].start_ns == 1'000'000'000'000'000'000 + 4'294'967'296'000'125);
  CHECK(kernels[1].end_ns == kernels[1].start_ns + 10'500);
  CHECK(kernels[1].bytes == 2048);
}

TEST_CASE("what is no trace of PyTorch's profiler") {
  KinetoFile file;
  CHECK(file.open("/nowhere/at/all"));
  CHECK(file.open(Document("").path()));
  CHECK(file.open(Document("[]").path()));
  CHECK(file.open(Document("{\"traceEvents\": 5}").path()));
  CHECK(file.open(Document("{\"traceEvents\": [{\"ph\"").path()));
  CHECK_FALSE(file.open(Document("{\"traceEvents\": [], \"distributedInfo\": 7}").path()));
  CHECK_FALSE(file.rank());
}
