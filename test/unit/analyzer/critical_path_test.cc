// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/critical_path.h"

#include <cstdint>
#include <string>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kMs = 1'000'000;

CriticalPath path_of(TraceBuilder& builder) {
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::estimate(traces);
  return find_critical_path(facts::Facts(traces, matches, alignment));
}

void set_times(model::Operation& operation, std::int64_t call_ns, std::int64_t start_ns,
               std::int64_t end_ns) {
  operation.enqueue_start_ns = call_ns;
  operation.enqueue_end_ns = call_ns + 1'000;
  operation.start_ns = start_ns;
  operation.end_ns = end_ns;
}

std::int64_t spent(const CriticalPath& path, Spent kind) {
  return path.spent_ns[static_cast<std::size_t>(kind)];
}

TEST_CASE("what the GPU computes between collectives is no launch") {
  // As in PyTorch: all calls are made at once, and between the kernels of NCCL, each of 1 ms, the
  // GPU computes for 9 ms. The first kernel starts 5 us after its call.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 5; ++seq) {
      const auto begin_ns = static_cast<std::int64_t>(seq) * 10 * kMs;
      const auto call_ns = kMs + static_cast<std::int64_t>(seq) * 10'000;
      set_times(builder.add("AllReduce", seq), call_ns, kMs + begin_ns + 5'000, 2 * kMs + begin_ns);
    }
  }
  const CriticalPath path = path_of(builder);
  CHECK(spent(path, Spent::kLaunch) == 5'000);
  CHECK(spent(path, Spent::kStream) == 4 * (9 * kMs + 5'000));
  CHECK(spent(path, Spent::kTransfer) == 5 * (kMs - 5'000));
}

TEST_CASE(
    "a call that finds its stream free is launched, and computing before it is the program's") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 5; ++seq) {
      const auto begin_ns = static_cast<std::int64_t>(1 + seq * 10) * kMs;
      set_times(builder.add("AllReduce", seq), begin_ns, begin_ns + 5'000, begin_ns + kMs);
    }
  }
  const CriticalPath path = path_of(builder);
  CHECK(spent(path, Spent::kLaunch) == 5 * 5'000);
  CHECK(spent(path, Spent::kStream) == 0);
  CHECK(spent(path, Spent::kApplication) == 4 * 9 * kMs);
}

TEST_CASE("a path is not shorter by what came before it begins") {
  // The path begins with the call of rank 1, which comes 100 ms after rank 0.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    const std::int64_t call_ns = kMs + rank * 100 * kMs;
    set_times(builder.add("AllReduce", 0), call_ns, call_ns + 5'000, 102 * kMs);
  }
  const CriticalPath path = path_of(builder);
  CHECK(path.length_ns == kMs);
  for (const RankOnPath& rank : path.ranks) {
    CHECK(rank.gain_ns == (rank.label == "rank 1" ? 5'000 : 0));
  }
}

TEST_CASE("a path is not shorter by what others waited during earlier operations of the rank") {
  // Rank 0 computes for 1 ms before each of three sends. All of the others wait from the beginning.
  constexpr std::uint32_t kOthers = 3;
  constexpr std::int64_t kTransfer_ns = 50'000;
  const auto sent_ns = [](std::int64_t peer) { return kMs + peer * (kMs + kTransfer_ns); };
  TraceBuilder builder;
  builder.add_file(0, "0x1", kOthers + 1);
  for (std::uint32_t peer = 1; peer <= kOthers; ++peer) {
    set_times(builder.add_transfer("Send", peer), sent_ns(peer) - kTransfer_ns,
              sent_ns(peer) - kTransfer_ns, sent_ns(peer));
  }
  for (std::uint32_t rank = 1; rank <= kOthers; ++rank) {
    builder.add_file(rank, "0x1", kOthers + 1);
    set_times(builder.add_transfer("Recv", 0), kMs, kMs, sent_ns(rank));
  }
  const CriticalPath path = path_of(builder);
  CHECK(path.ranks[0].label == "rank 0");
  CHECK(path.ranks[0].arrivals == kOthers);
  // The path begins with the first call. Waits of 1, 2 and 3 ms would be 6.15 ms.
  CHECK(path.length_ns == 2 * kMs + kOthers * kTransfer_ns);
  CHECK(path.ranks[0].gain_ns > 2 * kMs * 9 / 10);
  CHECK(path.ranks[0].gain_ns <= 2 * kMs);
}

TEST_CASE("a broadcast depends on its root, and a receive on its sender") {
  // Rank 0 comes 15 ms late each time; its data take 1 ms.
  for (const bool is_pair : {false, true}) {
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      builder.add_file(rank);
      for (std::uint64_t seq = 0; seq < 5; ++seq) {
        const auto begin_ns = static_cast<std::int64_t>(1 + seq * 20) * kMs;
        const std::int64_t late_ns = rank == 0 ? 15 * kMs : 0;
        model::Operation& one = is_pair
                                    ? builder.add_transfer(rank == 0 ? "Send" : "Recv", 1 - rank)
                                    : builder.add("Broadcast", seq);
        one.root = is_pair ? std::nullopt : std::optional<std::uint32_t>(0);
        set_times(one, begin_ns + late_ns - 1'000, begin_ns + late_ns, begin_ns + 16 * kMs);
      }
    }
    const CriticalPath path = path_of(builder);
    INFO((is_pair ? "pair" : "broadcast"));
    CHECK(spent(path, Spent::kTransfer) == 5 * kMs);
    REQUIRE_FALSE(path.ranks.empty());
    CHECK(path.ranks[0].label == "rank 0");
    CHECK(path.ranks[0].arrivals == 5);
  }
}

}  // namespace
}  // namespace ringside::metrics
