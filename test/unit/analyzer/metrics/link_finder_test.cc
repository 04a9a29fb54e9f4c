// SPDX-License-Identifier: Apache-2.0
//
// Links are the same wherever the files are that have their two ends.
#include "analyzer/metrics/network/link_finder.h"

#include <array>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

using namespace ringside;

namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::int64_t kStep_ns = 100'000;

model::Step step(std::uint32_t peer, bool is_send, int number) {
  model::Step made;
  made.operation = 1;
  made.context = 1;
  made.peer = peer;
  made.is_send = is_send;
  made.start_ns = 10'000'000 + number * kStep_ns;
  made.end_ns = made.start_ns + kStep_ns;
  made.bytes = 1'000'000;
  made.transfer_ns = kStep_ns;
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

// Keeps the rows of the network of one file only, as the process that has read it does.
model::Traces ring_seen_by(std::uint32_t process) {
  model::Traces seen = relayed_ring();
  for (std::uint32_t file = 0; file < seen.files.size(); ++file) {
    if (file != process) {
      seen.files[file].elsewhere.steps = seen.files[file].steps.size();
      seen.files[file].steps.clear();
      seen.files[file].proxies.clear();
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("links are found where their files are in processes of their own") {
  const model::Traces all = relayed_ring();
  const align::Alignment alignment = align::Alignment::none(all);
  const match::Runs runs = match::find_runs(all);
  const auto communicators = match::find_communicators(all, runs);
  std::vector<model::Traces> traces;
  std::vector<metrics::LinkFinder> finders;
  traces.reserve(kRanks);
  std::array<std::vector<metrics::LinkSteps>, kRanks> sent;
  for (std::uint32_t process = 0; process < kRanks; ++process) {
    traces.push_back(ring_seen_by(process));
    finders.emplace_back(traces.back(), alignment, runs, communicators);
    for (metrics::LinkSteps& one : finders.back().collect()) {
      sent.at(finders.back().file_of(one.link)).push_back(std::move(one));
    }
  }
  metrics::FoundLinks found;
  for (std::uint32_t process = kRanks; process-- > 0;) {
    found.take(finders[process].join(std::move(sent.at(process))));
  }
  const metrics::Network network =
      metrics::judge_network(traces[0], std::move(found), communicators);
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
      CHECK(link.transfer_ns == Approx(32 * kStep_ns));
      CHECK(link.throughput.seen_by == metrics::SeenBy::kBoth);
      CHECK(link.throughput.gb_s() == Approx(10));
    }
    CHECK(network.pairs[rank].rank == rank);
    CHECK(network.pairs[rank].bytes == 32'000'000);
    CHECK(network.pairs[rank].throughput.gb_s() == Approx(10));
  }
}
