// SPDX-License-Identifier: Apache-2.0
//
// Tests which links stand out, and which must not.
#include "analyzer/metrics/network/network.h"

#include <algorithm>
#include <limits>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

using namespace ringside;

namespace {

// Ends after `at_ns`, by as much as it waits and transfers.
model::Step step(std::uint32_t peer, std::uint16_t channel, std::int64_t at_ns,
                 std::int64_t transfer_ns) {
  model::Step made;
  made.operation = 1;
  made.context = 1;
  made.peer = peer;
  made.channel = channel;
  made.is_send = true;
  made.start_ns = at_ns;
  made.end_ns = at_ns + 300 + transfer_ns;
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
      std::int64_t at_ns = 1000;
      for (int i = 0; i < steps; ++i) {
        file.steps.push_back(step((rank + 1) % 4, channel, at_ns, time(rank, channel, i)));
        at_ns = *file.steps.back().end_ns;
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

metrics::Network find(const model::Traces& traces) {
  return metrics::find_network(traces, align::Alignment::estimate(traces));
}

std::int64_t usual(int i) {
  return 100'000 + 2000 * (i % 7);
}

}  // namespace

TEST_CASE("a link that is slower than its siblings stands out, by as much as it is") {
  const auto traces = ring([](std::uint32_t rank, std::uint16_t channel, int i) {
    return usual(i) * (rank == 2 && channel == 1 ? 3 : 1);
  });
  const metrics::Network network = find(traces);
  CHECK(network.links.size() == 8);
  CHECK(network.judged == 8);
  const auto slow = slow_links(network);
  REQUIRE(slow.size() == 1);
  CHECK(slow[0]->rank == 2U);
  CHECK(slow[0]->peer == 3U);
  CHECK(slow[0]->channel == 1);
  CHECK(slow[0]->slow->factor == Approx(3).epsilon(0.01));
  CHECK(slow[0]->slow->chance < 0.01);
  REQUIRE(network.classes.size() == 1);
  CHECK(network.classes[0].links == 8);
  CHECK(network.classes[0].pairs == 4);
  CHECK(slow[0]->bytes == 30'000'000);
  CHECK(slow[0]->gpu_wait_ns == Approx(30 * 300));
}

TEST_CASE("what is even, scattered, rare or has few siblings does not stand out") {
  CHECK(slow_links(find(ring([](auto, auto, int i) { return usual(i); }))).empty());
  // A tenth is nothing, and some of the steps may be as slow as they like.
  CHECK(slow_links(find(ring([](std::uint32_t rank, auto, int i) {
          return rank == 1 ? usual(i) * 11 / 10 : i % 3 == 0 ? usual(i) * 9 : usual(i);
        }))).empty());
  // Links that differ from each other anyway.
  CHECK(slow_links(find(ring([](std::uint32_t rank, std::uint16_t channel, auto) {
          return std::int64_t{100'000} + std::int64_t{20'000} * (2 * rank + channel);
        }))).empty());
  const auto one_slow = [](std::uint32_t rank, auto, int i) {
    return usual(i) * (rank == 2 ? 3 : 1);
  };
  CHECK(find(ring(one_slow, 19)).judged == 0);
  auto few = ring(one_slow);
  few.files.pop_back();
  few.files.pop_back();
  few.files.pop_back();
  CHECK(find(few).judged == 0);
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
  const metrics::Network network = find(traces);
  CHECK(network.in_flight == 1);
  CHECK(network.without_place == 1);
  CHECK(network.without_states == 1);
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
  const metrics::Network network = find(traces);
  CHECK_FALSE(network.has_steps);
  CHECK(network.judged == 0);
  REQUIRE(network.links.size() == 4);
  CHECK(network.links[0].throughput.gb_s() == Approx(2));
  CHECK(network.links[0].throughput.least_gb_s() == Approx(4'000.0 / 22'000));  // stamps are late
}

namespace {

// One operation of two ranks: rank 0 sends 64 steps of 1 MB to rank 1 at 10 GB/s, eight at a time.
// The receiver waits for the first.
model::Traces pipeline(std::int64_t sent_after_ns = 0) {
  TraceBuilder builder;
  constexpr std::int64_t kStep_ns = 100'000;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 2);
    builder.add("AllReduce", 0);
    for (int i = 0; i < 64; ++i) {
      const std::int64_t begin_ns = 10'000'000 + std::max(i - 8, 0) * kStep_ns;
      const std::int64_t end_ns = 10'000'000 + (i + 1) * kStep_ns;
      model::Step made = step(1 - rank, 0, rank == 0 ? begin_ns : 1'000, 0);
      made.gpu_wait_ns = 0;
      made.is_send = rank == 0;
      made.end_ns = rank == 0 && sent_after_ns > 0 ? begin_ns + sent_after_ns : end_ns;
      made.transfer_ns = *made.end_ns - made.start_ns;
      file.steps.push_back(made);
    }
  }
  return std::move(builder.traces());
}

}  // namespace

TEST_CASE("steps that overlap count once, and the receiver's wait for its peer is no transfer") {
  const metrics::Network network = find(pipeline());
  REQUIRE(network.pairs.size() == 1);
  CHECK(network.pairs[0].throughput.seen_by == metrics::SeenBy::kBoth);
  CHECK(network.pairs[0].throughput.gb_s() == Approx(10).epsilon(0.01));
  CHECK(*network.pairs[0].throughput.least_gb_s() <= 10);
  CHECK(*network.pairs[0].throughput.most_gb_s() >= 10);
  REQUIRE(network.links.size() == 2);
  CHECK(network.links[1].throughput.gb_s() == Approx(10).epsilon(0.01));
  CHECK(network.links[0].step_median_ns == Approx(900'000));
}

TEST_CASE("a send that completes into a buffer is no faster than its receiver") {
  const metrics::Network network = find(pipeline(5'000));
  REQUIRE(network.pairs.size() == 1);
  CHECK(network.pairs[0].throughput.gb_s() == Approx(10).epsilon(0.02));
  // The sender alone tells no more than a bound.
  auto alone = pipeline(5'000);
  alone.files.pop_back();
  const metrics::Network bound = find(alone);
  REQUIRE(bound.pairs.size() == 1);
  CHECK(bound.pairs[0].throughput.seen_by == metrics::SeenBy::kSender);
  CHECK_FALSE(bound.pairs[0].throughput.least_gb_s());
  CHECK(bound.pairs[0].throughput.is_wide());
}

namespace {

struct Transfer {
  std::int64_t posted_ns = 0;  // the receive
  std::int64_t start_ns = 0;
  std::int64_t arrived_ns = 0;
};

// One operation of two ranks of one host, with such steps of 1 MB from rank 0 to rank 1.
metrics::Throughput throughput_of(const std::vector<Transfer>& transfers) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 2);
    builder.add("AllReduce", 0);
    for (const Transfer& one : transfers) {
      model::Step made = step(1 - rank, 0, rank == 0 ? one.start_ns : one.posted_ns, 0);
      made.gpu_wait_ns = 0;
      made.is_send = rank == 0;
      made.end_ns = one.arrived_ns;
      made.transfer_ns = *made.end_ns - made.start_ns;
      file.steps.push_back(made);
    }
  }
  const metrics::Network network = find(builder.traces());
  REQUIRE(network.pairs.size() == 1);
  CHECK(network.pairs[0].throughput.seen_by == metrics::SeenBy::kBoth);
  return network.pairs[0].throughput;
}

}  // namespace

TEST_CASE("the time between steps is no transfer, whatever the order of the receives' stamps") {
  // Each step takes 100 us and comes 1 ms after the one before. All receives are posted at once,
  // and the first of them are stamped last.
  std::vector<Transfer> transfers;
  for (std::int64_t i = 0; i < 16; ++i) {
    const std::int64_t start_ns = 10'000'000 + i * 1'000'000;
    transfers.push_back({1'000 + (16 - i) * 100, start_ns, start_ns + 100'000});
  }
  const metrics::Throughput found = throughput_of(transfers);
  CHECK(found.gb_s() == Approx(10));
  CHECK(*found.least_gb_s() == Approx(1'000.0 / 120));  // 20 us, the lateness of a stamp
  CHECK(*found.most_gb_s() == Approx(1'000.0 / 80));
}

TEST_CASE("the first step of a long link takes longer than the time between two arrivals") {
  std::vector<Transfer> transfers;
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t start_ns = 10'000'000 + i * 10'000;
    transfers.push_back({1'000, start_ns, start_ns + 1'000'000});
  }
  const metrics::Throughput found = throughput_of(transfers);
  const double true_gb_s = 8'000.0 / 1'070;
  CHECK(found.gb_s() == Approx(true_gb_s));
  CHECK(*found.least_gb_s() < true_gb_s);
  CHECK(*found.most_gb_s() > true_gb_s);
}

TEST_CASE("traffic through another process's proxy belongs to the rank that asked for it") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 3);
    file.process.pid = 100 + rank;
    builder.add("AllReduce", 0);
    if (rank == 1) {
      model::ProxyOperation proxy;
      proxy.peer = 2;
      proxy.is_send = true;
      proxy.foreign_pid = 100;
      proxy.start_ns = 0;
      proxy.end_ns = 10'000'000;
      file.proxies.push_back(proxy);
      proxy.channel = 1;  // of a process without a trace
      proxy.foreign_pid = 555;
      file.proxies.push_back(proxy);
      for (std::uint16_t channel = 0; channel < 2; ++channel) {
        model::Step made = step(2, channel, 1000, 100'000);
        made.operation = 0;
        made.context = 0;
        file.steps.push_back(made);
      }
    }
  }
  const metrics::Network network = find(builder.traces());
  CHECK(network.foreign == 2);
  CHECK(network.foreign_known == 1);
  CHECK(network.without_place == 0);
  REQUIRE(network.pairs.size() == 1);
  CHECK(network.pairs[0].rank == 0);
  CHECK(network.pairs[0].peer == 2);
  CHECK(network.pairs[0].bytes == 1'000'000);
}

TEST_CASE("two classes of links are told apart, and a slow link within one is found") {
  // Twelve ranks in twos; ranks of one place in their pairs have a rail of their own.
  constexpr std::uint32_t kRanks = 12;
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    builder.add("AlltoAll", 0);
    for (std::uint32_t peer = 0; peer < kRanks; ++peer) {
      std::int64_t at_ns = 1000;
      for (int i = 0; i < 24 && peer / 2 != rank / 2; ++i) {
        const bool is_rail = peer % 2 == rank % 2;
        const bool is_slow = rank == 3 && peer == 5;
        file.steps.push_back(
            step(peer, 0, at_ns, usual(i) * (is_slow ? 3 : 1) * (is_rail ? 1 : 4)));
        at_ns = *file.steps.back().end_ns;
      }
    }
  }
  const metrics::Network network = find(builder.traces());
  REQUIRE(network.classes.size() == 2);
  CHECK(network.classes[0].links == 60);
  CHECK(network.classes[1].links == 60);
  CHECK(network.classes[0].usual_gb_s == Approx(4 * network.classes[1].usual_gb_s).epsilon(0.01));
  const auto slow = slow_links(network);
  REQUIRE(slow.size() == 1);
  CHECK(slow[0]->rank == 3U);
  CHECK(slow[0]->peer == 5U);
  CHECK(slow[0]->slow->factor == Approx(3).epsilon(0.01));
}
