// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/bandwidth.h"

#include "plugin/assemble/message_bytes.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

// 1000 bytes in 1000 ns are 1 GB/s, so that algbw is S / 1000 and busbw shows the factor.
struct Expected {
  const char* func;
  double algbw_gb_s;
  double busbw_gb_s;
};

TEST_CASE("bandwidths are those of nccl-tests") {
  const auto expected =
      GENERATE(Expected{"AllReduce", 1, 2 * 3.0 / 4}, Expected{"AllGather", 4, 3},
               Expected{"ReduceScatter", 4, 3}, Expected{"Broadcast", 1, 1},
               Expected{"Reduce", 1, 1}, Expected{"AlltoAll", 4, 3}, Expected{"Gather", 4, 3},
               Expected{"Scatter", 4, 3}, Expected{"SendRecv", 1, 1});
  INFO(expected.func);
  const Bandwidth found = bandwidth(expected.func, 1000, 4, 1000);
  REQUIRE(found.algbw_gb_s.has_value());
  REQUIRE(found.busbw_gb_s.has_value());
  CHECK(*found.algbw_gb_s == approx(expected.algbw_gb_s));
  CHECK(*found.busbw_gb_s == approx(expected.busbw_gb_s));
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
  // What NCCL calls ncclUint8.
  CHECK(assemble::datatype_bytes("Unknown") == 1U);
  CHECK_FALSE(assemble::datatype_bytes("ncclFloat4"));
}

}  // namespace
}  // namespace ringside::metrics
