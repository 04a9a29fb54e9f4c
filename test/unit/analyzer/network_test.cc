// SPDX-License-Identifier: Apache-2.0
//
// Which links stand out, and which must not.
#include "analyzer/metrics/network.h"

#include <limits>

#include <catch2/catch.hpp>

#include "test/unit/analyzer/trace_builder.h"

using namespace ringside;

namespace {

model::Step step(std::uint32_t peer, std::uint16_t channel, std::int64_t transfer_ns) {
  model::Step made;
  made.operation = 1;
  made.context = 1;
  made.peer = peer;
  made.channel = channel;
  made.is_send = true;
  made.end_ns = 1'000'000;
  made.bytes = 1'000'000;
  made.gpu_wait_ns = 300;
  made.transfer_ns = transfer_ns;
  return made;
}

// A ring of four ranks with two channels; what each send takes is told by time(rank, channel, i).
template <typename Time>
model::Traces ring(Time time, int steps = 30) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 4);
    builder.add("AllReduce", 0);
    for (std::uint16_t channel = 0; channel < 2; ++channel) {
      for (int i = 0; i < steps; ++i) {
        file.steps.push_back(step((rank + 1) % 4, channel, time(rank, channel, i)));
      }
    }
  }
  return std::move(builder.traces());
}

std::vector<const metrics::Link*> slow_links(const metrics::Network& network) {
  std::vector<const metrics::Link*> found;
  for (const metrics::Link& link : network.links) {
    if (link.slow) {
      found.push_back(&link);
    }
  }
  return found;
}

std::int64_t usual(int i) {
  return 100'000 + 2000 * (i % 7);
}

}  // namespace

TEST_CASE("a link that is slower than its siblings stands out, by as much as it is") {
  const auto traces = ring([](std::uint32_t rank, std::uint16_t channel, int i) {
    return usual(i) * (rank == 2 && channel == 1 ? 3 : 1);
  });
  const metrics::Network network = metrics::find_network(traces);
  CHECK(network.links.size() == 8);
  CHECK(network.judged == 8);
  const auto slow = slow_links(network);
  REQUIRE(slow.size() == 1);
  CHECK(slow[0]->rank == 2U);
  CHECK(slow[0]->peer == 3U);
  CHECK(slow[0]->channel == 1);
  CHECK(slow[0]->slow->factor == Approx(3).epsilon(0.01));
  CHECK(slow[0]->slow->siblings == 8);
  CHECK(slow[0]->bytes == 30'000'000);
  CHECK(slow[0]->gpu_wait_ns == Approx(30 * 300));
}

TEST_CASE("what is even, scattered, rare or has few siblings does not stand out") {
  CHECK(
      slow_links(metrics::find_network(ring([](auto, auto, int i) { return usual(i); }))).empty());
  // A tenth is nothing, and some of the steps may be as slow as they like.
  CHECK(slow_links(metrics::find_network(ring([](std::uint32_t rank, auto, int i) {
          return rank == 1 ? usual(i) * 11 / 10 : i % 3 == 0 ? usual(i) * 9 : usual(i);
        }))).empty());
  // Links that differ from each other anyway.
  CHECK(slow_links(metrics::find_network(ring([](std::uint32_t rank, std::uint16_t channel, auto) {
          return std::int64_t{100'000} + std::int64_t{20'000} * (2 * rank + channel);
        }))).empty());
  const auto one_slow = [](std::uint32_t rank, auto, int i) {
    return usual(i) * (rank == 2 ? 3 : 1);
  };
  CHECK(metrics::find_network(ring(one_slow, 19)).judged == 0);
  auto few = ring(one_slow);
  few.files.pop_back();
  few.files.pop_back();
  few.files.pop_back();
  CHECK(metrics::find_network(few).judged == 0);
}

TEST_CASE("what cannot be told is counted, and damage does not overflow") {
  auto traces = ring([](auto, auto, int i) { return usual(i); });
  auto& steps = traces.files[0].steps;
  steps[0].in_flight = true;
  steps[1].context = 0;
  steps[2].transfer_ns = 0;
  steps[2].gpu_wait_ns = 0;
  steps[3].bytes = std::numeric_limits<std::uint64_t>::max();
  steps[3].transfer_ns = std::numeric_limits<std::int64_t>::max();
  steps[4].transfer_ns = std::numeric_limits<std::int64_t>::min();
  const metrics::Network network = metrics::find_network(traces);
  CHECK(network.in_flight == 1);
  CHECK(network.without_place == 1);
  CHECK(network.untold == 1);
  CHECK(network.links[0].bytes == std::numeric_limits<std::uint64_t>::max());
  CHECK(slow_links(network).empty());
}

TEST_CASE("without steps proxy operations are taken, and nothing is judged") {
  auto traces = ring([](auto, auto, int i) { return usual(i); });
  for (model::TraceFile& file : traces.files) {
    file.steps.clear();
    model::ProxyOperation proxy;
    proxy.operation = 1;
    proxy.context = 1;
    proxy.peer = 1;
    proxy.is_send = true;
    proxy.start_ns = 1000;
    proxy.end_ns = 3000;
    proxy.bytes = 4000;
    file.proxies.push_back(proxy);
  }
  const metrics::Network network = metrics::find_network(traces);
  CHECK_FALSE(network.has_steps);
  CHECK(network.judged == 0);
  REQUIRE(network.links.size() == 4);
  CHECK(network.links[0].throughput_gb_s() == Approx(2));
}
