// SPDX-License-Identifier: Apache-2.0
//
// The two ends of a link are joined, whoever has sent.
#include "analyzer/metrics/network/network.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

using namespace ringside;

namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::int64_t kOneStep_ns = 100'000;

model::Step step(std::uint32_t peer, bool is_send, int number) {
  model::Step made;
  made.operation = 1;
  made.context = 1;
  made.peer = peer;
  made.is_send = is_send;
  made.start_ns = 10'000'000 + number * kOneStep_ns;
  made.end_ns = made.start_ns + kOneStep_ns;
  made.bytes = 1'000'000;
  made.transfer_ns = kOneStep_ns;
  return made;
}

// A ring. Rank 0 sends to rank 1 24 steps itself, and 8 more through the proxy of rank 2.
model::Traces relayed_ring() {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    file.process.pid = 100 + rank;
    builder.add("AllReduce", 0);
    for (int i = 0; i < 32; ++i) {
      if (rank != 0 || i < 24) {
        file.steps.push_back(step((rank + 1) % kRanks, true, i));
      }
      file.steps.push_back(step((rank + kRanks - 1) % kRanks, false, i));
    }
    if (rank == 2) {
      model::ProxyOperation proxy;
      proxy.peer = 1;
      proxy.is_send = true;
      proxy.foreign_pid = 100;
      proxy.start_ns = 0;
      proxy.end_ns = 20'000'000;
      file.proxies.push_back(proxy);
      for (int i = 24; i < 32; ++i) {
        model::Step made = step(1, true, i);
        made.operation = 0;
        made.context = 0;
        file.steps.push_back(made);
      }
    }
  }
  return std::move(builder.traces());
}

}  // namespace

TEST_CASE("what another process relays is a part of the link of the rank that sends") {
  const model::Traces traces = relayed_ring();
  const metrics::Network network = metrics::find_network(traces, align::Alignment::none(traces));
  CHECK(network.has_steps);
  CHECK(network.foreign == 8);
  CHECK(network.foreign_known == 8);
  REQUIRE(network.links.size() == 2 * kRanks);
  REQUIRE(network.pairs.size() == kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const metrics::Link& send = network.links[2 * rank];
    CHECK(send.is_send);
    CHECK(send.rank == rank);
    CHECK(send.file == rank);
    CHECK(send.peer == (rank + 1) % kRanks);
    CHECK_FALSE(network.links[2 * rank + 1].is_send);
    CHECK(network.links[2 * rank + 1].peer == (rank + 2) % kRanks);
    for (const metrics::Link& link : {send, network.links[2 * rank + 1]}) {
      CHECK(link.transfers == 32);
      CHECK(link.bytes == 32'000'000);
      CHECK(link.transfer_ns == Approx(32 * kOneStep_ns));
      CHECK(link.throughput.seen_by == metrics::SeenBy::kBoth);
      CHECK(link.throughput.gb_s() == Approx(10));
    }
    CHECK(network.pairs[rank].rank == rank);
    CHECK(network.pairs[rank].bytes == 32'000'000);
    CHECK(network.pairs[rank].throughput.gb_s() == Approx(10));
  }
}
