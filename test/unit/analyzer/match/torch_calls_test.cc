// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/calls/torch_calls.h"

#include <vector>

#include "test/unit/catch.h"

namespace ringside::match {
namespace {

using TensorSizes = std::vector<std::uint64_t>;
using CallsMade = std::vector<NcclCall>;

std::size_t count_made(std::string_view name, const TensorSizes& input, const TensorSizes& output,
                       const CallsMade& calls) {
  return calls_made({name, input, output}, calls);
}

// As test/data/both_records has them, of both implementations.
TEST_CASE("a call of torch.distributed stands for the calls of NCCL that were recorded of it") {
  const CallsMade rest = {{"AllReduce", 4, 9}};
  CHECK(count_made("all_reduce", {16}, {16}, {{"AllReduce", 16, 1}, rest[0]}) == 1);
  CHECK(count_made("barrier", {}, {}, {{"AllReduce", 4, 1}}) == 1);
  CHECK(count_made("all_gather", {16}, {16, 16}, {{"AllGather", 16, 1}}) == 1);
  CHECK(count_made("all_gather", {16}, {16, 24},
                   {{"Broadcast", 16, {}}, {"Broadcast", 24, {}}, rest[0]}) == 2);
  CHECK(count_made("allreduce_coalesced", {16, 64}, {16, 64},
                   {{"AllReduce", 16, 1}, {"AllReduce", 64, 2}}) == 2);
  CHECK(count_made("_reduce_scatter_base", {32}, {16}, {{"ReduceScatter", 16, 1}}) == 1);
  CHECK(count_made("Send", {16}, {}, {{"Send", 16, 1}, {"Recv", 16, 1}}) == 1);
  CHECK(count_made("all_to_all_single", {40}, {48},
                   {{"Send", 16, 1}, {"Recv", 24, 1}, {"Send", 24, 1}, {"Recv", 24, 1}, rest[0]}) ==
        4);
  CHECK(count_made("coalesced", {}, {}, {{"AllReduce", 16, 1}, {"AllReduce", 64, 1}, rest[0]}) ==
        2);
}

TEST_CASE("what differs in function, size or number of calls does not fit") {
  CHECK(count_made("all_reduce", {16}, {16}, {}) == 0);
  CHECK(count_made("all_reduce", {16}, {16}, {{"AllReduce", 20, 1}}) == 0);
  CHECK(count_made("all_reduce", {16}, {16}, {{"AllReduce", {}, 1}}) == 0);
  CHECK(count_made("all_gather", {16}, {16, 24}, {{"Broadcast", 16, {}}}) == 0);
  CHECK(count_made("all_to_all", {40}, {48}, {{"Send", 16, 1}, {"Recv", 24, 1}}) == 0);
  CHECK(count_made("all_to_all", {16}, {24}, {{"Send", 16, {}}, {"Recv", 24, {}}}) == 0);
  CHECK(count_made("coalesced", {}, {}, {{"AllReduce", 16, {}}}) == 0);
  CHECK(count_made("a new one", {16}, {16}, {{"AllReduce", 16, 1}}) == 0);
}

}  // namespace
}  // namespace ringside::match
