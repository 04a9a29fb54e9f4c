// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/untrusted/untrusted.h"

#include <random>

#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

struct Share {
  std::uint64_t placed = 0;
  std::uint64_t all = 0;
};

// A random job of three ranks, whose windows begin and end when they like and which lose records.
// `channels` is what it was in truth.
TraceBuilder random_job(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  constexpr std::uint32_t kRanks = 3;
  constexpr std::int64_t kCalls = 90;
  const bool is_old = pick(0, 1) == 1;
  const bool has_replays = pick(0, 2) == 0;
  const bool tells_graph = pick(0, 1) == 0;
  const std::int64_t eager = pick(0, 1) * 30;  // calls before the replays
  const bool is_timed = pick(0, 3) > 0;
  const std::int64_t sizes = pick(0, 2) * 20 + 1;
  const std::int64_t period = pick(0, 1) == 0 ? kCalls : pick(1, 12);
  struct Truth {
    std::string func;
    std::uint64_t bytes = 0;
    std::int64_t starts_ns[kRanks] = {};
    std::int64_t ends_ns[kRanks] = {};
  };
  std::vector<Truth> calls;
  std::int64_t now_ns = 10'000'000;
  for (std::int64_t i = 0; i < kCalls; ++i) {
    Truth call;
    if (i >= period) {
      call = calls[static_cast<std::size_t>(i - period)];
    } else {
      const char* const functions[] = {"AllReduce", "AllGather", "Broadcast"};
      call.func = functions[pick(0, 2)];
      call.bytes = static_cast<std::uint64_t>(pick(1, sizes));
    }
    std::int64_t last_start_ns = 0;
    for (std::int64_t& start_ns : call.starts_ns) {
      start_ns = now_ns + pick(0, 900'000);
      last_start_ns = std::max(last_start_ns, start_ns);
    }
    for (std::int64_t& end_ns : call.ends_ns) {
      end_ns = last_start_ns + pick(1, 400'000);
      now_ns = std::max(now_ns, end_ns);
    }
    now_ns += pick(0, 1) == 0 ? pick(0, 50'000) : pick(0, 9'000'000);
    calls.push_back(call);
  }
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    file.process.nccl_version = is_old ? "2.24.3" : "2.29.7";
    file.process.abi = 2;
    file.process.boot_id = "b00t";
    const bool is_late = pick(0, 2) > 0;
    const std::int64_t first = is_late ? pick(1, 50) : 0;
    const std::int64_t last = pick(0, 1) == 0 ? kCalls : pick(first, kCalls);
    file.windows[1].start_ns = is_late ? 10 : 0;
    file.closed = last == kCalls;
    const double lost_share = pick(0, 2) == 0 ? 0.15 : 0;
    std::map<std::string, std::uint64_t> counts;
    for (std::int64_t i = 0; i < last; ++i) {
      const Truth& call = calls[static_cast<std::size_t>(i)];
      // NCCL up to 2.25 counts only while recording.
      const bool is_replay = has_replays && i >= eager;
      std::uint64_t& count = counts[call.func];
      const std::uint64_t seq = is_replay ? count + static_cast<std::uint64_t>(i % 3) : count;
      count += !is_replay && (i >= first || !is_old) ? 1 : 0;
      if (i < first) {
        continue;
      }
      if (std::uniform_real_distribution<double>(0, 1)(random) < lost_share) {
        file.account.dropped["Coll dropped_ring_full"] = 1;
        continue;
      }
      const bool has_number = call.func != "Broadcast";
      model::Operation& operation =
          builder.add(call.func, has_number ? std::optional(seq) : std::nullopt);
      operation.graph = is_replay && tells_graph;
      operation.bytes = call.bytes;
      operation.count = call.bytes;
      operation.window = 1;
      operation.channels = static_cast<std::uint32_t>(i);
      operation.enqueue_start_ns = call.starts_ns[rank];
      operation.start_ns = call.starts_ns[rank];
      operation.end_ns = call.ends_ns[rank];
      operation.times_from = is_timed ? model::TimesFrom::kGpu : model::TimesFrom::kEnqueue;
    }
  }
  return builder;
}

TEST_CASE("what is aligned is the same call, whatever was lost and whenever recording began",
          "[answers]") {
  std::mt19937_64 random(20261121);
  Share share;
  for (int round = 0; round < 1500; ++round) {
    TraceBuilder builder = random_job(random);
    const Matches matches = match_operations(builder.traces());
    for (const Communicator& communicator : matches.communicators) {
      share.all += communicator.unaligned_calls;
    }
    for (const MatchedOperation& matched : matches.operations) {
      const auto parts = parts_of(matches, matched);
      share.placed += matched.is_aligned ? matched.part_count : 0;
      for (const Part& part : parts) {
        REQUIRE(operation_of(builder.traces(), part).channels ==
                operation_of(builder.traces(), parts.front()).channels);
      }
    }
  }
  share.all += share.placed;
  INFO(share.placed << " of " << share.all);
  CHECK(share.placed > share.all / 2);
}

// Rank 0 sends to rank 1. Both record when they like, and may lose records.
TraceBuilder random_sends(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  constexpr std::int64_t kCalls = 60;
  struct Truth {
    std::int64_t bytes = 0;
    std::int64_t start_ns[2] = {};
    std::int64_t end_ns[2] = {};
  };
  std::vector<Truth> calls;
  const std::int64_t sizes = pick(0, 2) * 20 + 1;
  std::int64_t now_ns = 10'000'000;
  for (std::int64_t i = 0; i < kCalls; ++i) {
    Truth call;
    call.bytes = pick(1, sizes);
    call.start_ns[0] = now_ns + pick(0, 900'000);
    call.start_ns[1] = now_ns + pick(0, 900'000);
    // A send that fits into the buffers does not wait for its receiver.
    call.end_ns[0] = call.start_ns[0] + pick(1, 400'000);
    call.end_ns[1] = std::max(call.start_ns[0], call.start_ns[1]) + pick(1, 400'000);
    now_ns = std::max(call.end_ns[0], call.end_ns[1]) + pick(0, 9'000'000);
    calls.push_back(call);
  }
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank);
    file.process.boot_id = "b00t";
    const std::int64_t first = pick(0, 1) == 0 ? pick(1, 30) : 0;
    const std::int64_t last = pick(0, 1) == 0 ? kCalls : pick(first, kCalls);
    file.windows[1].start_ns = first > 0 ? 10 : 0;
    file.closed = last == kCalls;
    const double lost_share = pick(0, 2) == 0 ? 0.15 : 0;
    for (std::int64_t i = first; i < last; ++i) {
      const Truth& call = calls[static_cast<std::size_t>(i)];
      if (std::uniform_real_distribution<double>(0, 1)(random) < lost_share) {
        file.account.dropped["P2p dropped_ring_full"] = 1;
        continue;
      }
      model::Operation& operation = builder.add_transfer(rank == 0 ? "Send" : "Recv", 1 - rank);
      operation.bytes = static_cast<std::uint64_t>(call.bytes);
      operation.window = 1;
      operation.channels = static_cast<std::uint32_t>(i);
      operation.enqueue_start_ns = call.start_ns[rank];
      operation.start_ns = call.start_ns[rank];
      operation.end_ns = call.end_ns[rank];
    }
  }
  return builder;
}

TEST_CASE("a send and its receive are the same transfer, whatever was lost", "[answers]") {
  std::mt19937_64 random(20261123);
  std::uint64_t pairs = 0;
  for (int round = 0; round < 2000; ++round) {
    TraceBuilder builder = random_sends(random);
    const Matches matches = match_operations(builder.traces());
    for (const MatchedOperation& matched : matches.operations) {
      const auto parts = parts_of(matches, matched);
      pairs += parts.size() == 2 && matched.is_aligned ? 1 : 0;
      REQUIRE(operation_of(builder.traces(), parts[parts.size() - 1]).channels ==
              operation_of(builder.traces(), parts.front()).channels);
    }
  }
  CHECK(pairs > 10'000);
}

}  // namespace
}  // namespace ringside::match
