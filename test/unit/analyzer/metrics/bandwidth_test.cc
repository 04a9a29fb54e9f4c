// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/bandwidth.h"

#include "plugin/assemble/message_bytes.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

// 24,000 bytes in 1,000 ns are 24 GB/s: what each row has by hand. n is the number of ranks; S and
// the factor are those of docs/metrics.md.
struct Expected {
  const char* func;
  std::uint32_t nranks;
  double algbw_gb_s;
  double busbw_gb_s;
};

TEST_CASE("bandwidths are those of nccl-tests, worked out by hand") {
  const auto expected = GENERATE(values<Expected>({
      // S = bytes; factor 2 (n - 1) / n: 2 x 1/2 = 1, 2 x 2/3 = 4/3, 2 x 7/8 = 7/4.
      {"AllReduce", 2, 24, 24},
      {"AllReduce", 3, 24, 32},
      {"AllReduce", 8, 24, 42},
      // S = bytes x n: 48, 72, 192; factor (n - 1) / n: 1/2, 2/3, 7/8.
      {"AllGather", 2, 48, 24},
      {"AllGather", 3, 72, 48},
      {"AllGather", 8, 192, 168},
      {"ReduceScatter", 2, 48, 24},
      {"ReduceScatter", 3, 72, 48},
      {"ReduceScatter", 8, 192, 168},
      {"AlltoAll", 2, 48, 24},
      {"AlltoAll", 3, 72, 48},
      {"AlltoAll", 8, 192, 168},
      {"Gather", 2, 48, 24},
      {"Gather", 3, 72, 48},
      {"Gather", 8, 192, 168},
      {"Scatter", 2, 48, 24},
      {"Scatter", 3, 72, 48},
      {"Scatter", 8, 192, 168},
      // S = bytes; factor 1. AlltoAllv's bytes are those that a rank sends to all others: an
      // AlltoAll of 24,000 bytes to each of 7 others sends 168,000, and has the same busbw, 168.
      {"Broadcast", 2, 24, 24},
      {"Broadcast", 3, 24, 24},
      {"Broadcast", 8, 24, 24},
      {"Reduce", 2, 24, 24},
      {"Reduce", 3, 24, 24},
      {"Reduce", 8, 24, 24},
      {"SendRecv", 2, 24, 24},
      {"SendRecv", 3, 24, 24},
      {"SendRecv", 8, 24, 24},
      {"SendRecv ring", 2, 24, 24},
      {"SendRecv ring", 3, 24, 24},
      {"SendRecv ring", 8, 24, 24},
      {"AlltoAllv", 2, 24, 24},
      {"AlltoAllv", 3, 24, 24},
      {"AlltoAllv", 8, 24, 24},
  }));
  INFO(expected.func << " of " << expected.nranks);
  const Bandwidth found = bandwidth(expected.func, 24'000, expected.nranks, 1000);
  REQUIRE(found.algbw_gb_s.has_value());
  REQUIRE(found.busbw_gb_s.has_value());
  CHECK(*found.algbw_gb_s == Approx(expected.algbw_gb_s));
  CHECK(*found.busbw_gb_s == Approx(expected.busbw_gb_s));
}

// Worked out by hand from the doc strings of monitor_collectives.py. Each rank has 24,000 bytes of
// its own (reduce_scatter: 24,000 come out at each), n is 4, and the kernel takes 1,000 ns.
TEST_CASE("nominal bandwidths are those of monitor_collectives.py") {
  const auto [func, nominal_gb_s] = GENERATE(table<const char*, double>({
      {"AllReduce", 36},      // 2 x 3/4 x 24,000 / 1,000
      {"Broadcast", 24},      // 24,000 / 1,000
      {"Reduce", 24},         // likewise
      {"AllGather", 72},      // 3/4 x 96,000, what all tensors of tensor_list have
      {"ReduceScatter", 18},  // 3/4 x 24,000, the output: nccl-tests has 72, of the input
      {"Gather", 72},         // 96,000 less the root's own 24,000; no factor
      {"Scatter", 72},        // likewise
      {"AlltoAll", 288},      // S = 4 x (96,000 - 24,000), of all ranks: nccl-tests has 72, of one
      {"SendRecv", 24},       // 24,000 / 1,000
  }));
  INFO(func);
  const Bandwidth found = bandwidth(func, 24'000, 4, 1000);
  REQUIRE(found.nominal_gb_s.has_value());
  CHECK(*found.nominal_gb_s == Approx(nominal_gb_s));
}

TEST_CASE("a nominal bandwidth that cannot be known is left out") {
  CHECK_FALSE(bandwidth("AlltoAllv", 24'000, 4, 1000).nominal_gb_s);  // the others' sizes
  CHECK_FALSE(bandwidth("PutSignal", 24'000, 4, 1000).nominal_gb_s);
  CHECK_FALSE(bandwidth("AllReduce", 24'000, 1, 1000).nominal_gb_s);
  CHECK_FALSE(bandwidth("AllReduce", 24'000, 4, 0).nominal_gb_s);
}

TEST_CASE("an AlltoAllv of equal parts has the busbw of an AlltoAll") {
  for (const std::uint32_t nranks : {2U, 3U, 8U}) {
    CHECK(*bandwidth("AlltoAllv", 24'000 * (nranks - 1), nranks, 1000).busbw_gb_s ==
          Approx(*bandwidth("AlltoAll", 24'000, nranks, 1000).busbw_gb_s));
  }
}

TEST_CASE("a bandwidth that cannot be known is left out") {
  CHECK_FALSE(bandwidth("PutSignal", 1000, 4, 1000).algbw_gb_s);
  CHECK_FALSE(bandwidth("AllReduce", 1000, 4, 0).algbw_gb_s);
  // In a communicator of one rank the factor is 0, which says nothing.
  CHECK(bandwidth("AllReduce", 1000, 1, 1000).algbw_gb_s);
  CHECK_FALSE(bandwidth("AllReduce", 1000, 1, 1000).busbw_gb_s);
  CHECK_FALSE(bandwidth("AllGather", 1000, 1, 1000).algbw_gb_s);
  CHECK(bandwidth("Broadcast", 1000, 1, 1000).busbw_gb_s);
}

TEST_CASE("what depends on the number of ranks") {
  CHECK_FALSE(size_depends_on_ranks("AllReduce"));
  CHECK(busbw_depends_on_ranks("AllReduce"));
  CHECK(size_depends_on_ranks("Gather"));
  CHECK_FALSE(busbw_depends_on_ranks("Broadcast"));
  CHECK_FALSE(busbw_depends_on_ranks(kSendRecv));
}

TEST_CASE("sizes of datatypes") {
  CHECK(assemble::datatype_bytes("ncclFloat8e4m3") == 1U);
  CHECK(assemble::datatype_bytes("ncclBfloat16") == 2U);
  CHECK(assemble::datatype_bytes("ncclFloat32") == 4U);
  CHECK(assemble::datatype_bytes("ncclUint64") == 8U);
  CHECK(assemble::datatype_bytes("bytes") == 1U);
  // ncclUint8 has this name in NCCL.
  CHECK(assemble::datatype_bytes("Unknown") == 1U);
  CHECK_FALSE(assemble::datatype_bytes("ncclFloat4"));
}

}  // namespace
}  // namespace ringside::metrics
