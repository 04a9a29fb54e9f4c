// SPDX-License-Identifier: Apache-2.0
//
// What a rank may cost where the one that waits for it may have waited for others, or been late.
#include <cstdint>
#include <vector>

#include "analyzer/metrics/stragglers.h"
#include "test/unit/analyzer/late_ranks.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kMicrosecond_ns = 1'000;
constexpr std::int64_t kMillisecond_ns = 1'000'000;
constexpr std::int64_t kIterations = 30;
constexpr std::uint64_t kUnbuffered = 131'072;  // bytes; does not fit into buffers

struct PairTransfer {
  const char* func;
  std::uint32_t peer;
  std::uint64_t bytes;
  std::uint64_t group;
  std::int64_t start_ns;
  std::int64_t end_ns;
};

// `call_ns`: how long before its start each was called. A GPU's stamps err by no more than the
// least of these.
void add_transfers(TraceBuilder& builder, std::uint32_t rank, std::int64_t call_ns,
                   const std::vector<PairTransfer>& transfers) {
  builder.add_file(rank, "0x1", 3);
  for (const PairTransfer& transfer : transfers) {
    model::Operation& one = builder.add_transfer(transfer.func, transfer.peer);
    one.bytes = transfer.bytes;
    one.group = transfer.group;
    one.enqueue_start_ns = one.enqueue_end_ns = transfer.start_ns - call_ns;
    one.start_ns = transfer.start_ns;
    one.end_ns = transfer.end_ns;
  }
}

TEST_CASE("a rank is late by itself though it may have waited for the one that waits for it") {
  // Rank 0 is late by 4 ms. Rank 1, which sends to it, may have waited for it, and surely rank 2
  // waits for rank 1. Then rank 2 is late by 4 ms, and rank 0 waits for it.
  std::vector<std::vector<PairTransfer>> ranks(3);
  for (std::int64_t i = 0; i < kIterations; ++i) {
    const std::int64_t at_ns = (1 + 10 * i) * kMillisecond_ns;
    const std::int64_t late_ns = at_ns + 4 * kMillisecond_ns;
    const std::int64_t later_ns = late_ns + 4 * kMillisecond_ns;
    const auto group = static_cast<std::uint64_t>(2 * i + 1);
    ranks[1].push_back({"Send", 0, kUnbuffered, group, at_ns, late_ns + 10 * kMicrosecond_ns});
    ranks[0].push_back({"Recv", 1, kUnbuffered, group, late_ns, late_ns + 10 * kMicrosecond_ns});
    ranks[1].push_back({"Send", 2, 1000, group + 1, late_ns + 20 * kMicrosecond_ns,
                        late_ns + 30 * kMicrosecond_ns});
    ranks[2].push_back({"Recv", 1, 1000, group, at_ns, late_ns + 30 * kMicrosecond_ns});
    ranks[2].push_back({"Send", 0, 1000, group + 1, later_ns, later_ns + 10 * kMicrosecond_ns});
    ranks[0].push_back({"Recv", 2, 1000, group + 1, late_ns + 20 * kMicrosecond_ns,
                        later_ns + 10 * kMicrosecond_ns});
  }
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    add_transfers(builder, rank, 0, ranks[rank]);
  }
  const Stragglers found = find_late_ranks(builder.traces());
  CHECK(lateness_of(found, "rank 2").cost_most_ns >=
        kIterations * (4 * kMillisecond_ns - 20 * kMicrosecond_ns));
}

TEST_CASE("a wait that may be for one rank leaves it open that it was for another one") {
  // Rank 0 receives from rank 2, which is late by 0.4 ms, and sends to rank 1 in the same group.
  // Both end with the group's kernel, and stamps may be wrong by 0.3 ms.
  constexpr std::int64_t kDelay_ns = 400 * kMicrosecond_ns;
  std::vector<std::vector<PairTransfer>> ranks(3);
  for (std::int64_t i = 0; i < kIterations; ++i) {
    const std::int64_t at_ns = (1 + 2 * i) * kMillisecond_ns;
    const std::int64_t end_ns = at_ns + kDelay_ns + 10 * kMicrosecond_ns;
    const auto group = static_cast<std::uint64_t>(i + 1);
    ranks[0].push_back({"Send", 1, kUnbuffered, group, at_ns, end_ns});
    ranks[0].push_back({"Recv", 2, kUnbuffered, group, at_ns, end_ns});
    ranks[1].push_back({"Recv", 0, kUnbuffered, group, at_ns, at_ns + 20 * kMicrosecond_ns});
    ranks[2].push_back({"Send", 0, kUnbuffered, group, at_ns + kDelay_ns, end_ns});
  }
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    add_transfers(builder, rank, 300 * kMicrosecond_ns, ranks[rank]);
  }
  const Stragglers found = find_late_ranks(builder.traces());
  CHECK(lateness_of(found, "rank 2").cost_most_ns >= kIterations * kDelay_ns);
}

TEST_CASE("computing that a wait delayed may stay behind while others hide their waits") {
  // Rank 1 waits for rank 0 in an AllReduce without rank 2. What it computes then is later for
  // that, and so are the three messages that it sends to rank 2. Rank 2 computes beside each of its
  // waits, so it comes to the next one as early as without it. Nobody would wait without rank 0's
  // delay.
  constexpr std::int64_t kWait_ns = kMillisecond_ns / 2;
  constexpr std::int64_t kData_ns = 10 * kMicrosecond_ns;
  constexpr std::int64_t kMessages = 3;
  TraceBuilder builder;
  const model::NameId reducing = builder.traces().names.id("0x1000");
  const model::NameId sending = builder.traces().names.id("0x2000");
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    model::TraceFile& file = builder.add_file(rank, rank < 2 ? "0x1" : "0x2", 2);
    file.contexts[1].rank = rank < 2 ? rank : 1;
    if (rank == 1) {
      file.contexts[2] = file.contexts[1];
      file.contexts[2].comm = "0x2";
      file.contexts[2].rank = 0;
    }
    for (std::int64_t i = 0; i < kIterations; ++i) {
      const std::int64_t at_ns = (1 + 10 * i) * kMillisecond_ns;
      const auto add_times = [](model::Operation& one, std::int64_t start_ns, std::int64_t end_ns) {
        one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns = start_ns;
        one.end_ns = end_ns;
      };
      if (rank < 2) {
        model::Operation& one = builder.add("AllReduce", static_cast<std::uint64_t>(i));
        one.stream = reducing;
        add_times(one, at_ns + (rank == 0 ? kWait_ns : 0), at_ns + kWait_ns + kData_ns);
      }
      for (std::int64_t k = 1; k <= kMessages && rank > 0; ++k) {
        const std::int64_t sent_ns = at_ns + kWait_ns + kData_ns + k * kMillisecond_ns;
        model::Operation& one = builder.add_transfer(rank == 1 ? "Send" : "Recv", 2 - rank);
        one.context = rank == 1 ? 2 : 1;
        one.stream = sending;
        one.group = static_cast<std::uint64_t>(i * kMessages + k);
        add_times(one, rank == 1 ? sent_ns : sent_ns - kWait_ns, sent_ns + kData_ns);
      }
    }
  }
  const Stragglers found = find_late_ranks(builder.traces());
  CHECK(found.waited_ns >= kIterations * (1 + kMessages) * (kWait_ns - 10 * kMicrosecond_ns));
  CHECK(lateness_of(found, "rank 0").cost_most_ns >= found.waited_ns);
  CHECK(lateness_of(found, "rank 1").cost_ns <= found.waited_ns / 20);
}

}  // namespace
}  // namespace ringside::metrics
