// SPDX-License-Identifier: Apache-2.0
//
// Tests the cost of lateness, the rank that it is charged to, and the chance of it. Times are made
// by hand, so the truth is in each test.
#include "analyzer/metrics/stragglers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/metrics/exchange_test.h"
#include "analyzer/metrics/lasting_noise.h"
#include "test/unit/analyzer/late_ranks.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"
#include "test/unit/sanitized.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// The call is at the start, so that stamps of the GPU have no error.
void set_times(model::Operation& one, std::int64_t start_ns, std::int64_t end_ns) {
  one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns = start_ns;
  one.end_ns = end_ns;
}

// An AllReduce of all ranks of one host; `late_ns` says by how much each rank starts after the
// others, by operation.
model::Traces all_reduces(std::uint32_t ranks,
                          const std::vector<std::vector<std::int64_t>>& late_ns,
                          std::int64_t period_ns) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_file(rank, "0x1", ranks);
    std::int64_t at_ns = kMs;
    for (std::uint64_t seq = 0; seq < late_ns.size(); ++seq) {
      std::int64_t last_ns = 0;
      for (const std::int64_t late : late_ns[seq]) {
        last_ns = std::max(last_ns, late);
      }
      model::Operation& one = builder.add("AllReduce", seq);
      set_times(one, at_ns + late_ns[seq][rank], at_ns + last_ns + kMs / 10);
      at_ns += last_ns + period_ns;
    }
  }
  return std::move(builder.traces());
}

TEST_CASE("what now and then costs half of all time is a finding, however rare") {
  std::vector<std::vector<std::int64_t>> late_ns;
  for (int i = 0; i < 200; ++i) {
    late_ns.push_back({0, 0, i % 10 == 3 ? 20 * kMs : 0, 0});
  }
  const Stragglers found = find_late_ranks(all_reduces(4, late_ns, kMs));
  // 20 times three ranks wait 20 ms. The job takes 199 + 400 ms and the last tenth of one.
  const double truth = 20.0 * 3 * 20 / (4 * (199 + 400 + 0.1));
  const Lateness& rank = lateness_of(found, "rank 2");
  CHECK(rank.is_straggler);
  CHECK(found.share_of(rank) == Approx(truth).epsilon(0.01));
  CHECK(found.share_of(rank) <= truth);
  CHECK(found.most_share_of(rank) >= truth);
  CHECK(rank.times.times == 20);
  CHECK(rank.times.every_operations == 10);
  CHECK(rank.times.every_ns == 30 * kMs);
  for (const char* const other : {"rank 0", "rank 1", "rank 3"}) {
    CHECK_FALSE(lateness_of(found, other).is_straggler);
  }
}

TEST_CASE("one late arrival is a note with its cost") {
  std::vector<std::vector<std::int64_t>> late_ns(100, {0, 0, 0, 0});
  late_ns[40][1] = 20 * kMs;
  const Stragglers found = find_late_ranks(all_reduces(4, late_ns, kMs));
  const Lateness& rank = lateness_of(found, "rank 1");
  CHECK_FALSE(rank.is_straggler);
  CHECK(rank.was_late_once);
  CHECK(found.share(rank.most_cost_ns) == Approx(20.0 * 3 / (4 * (99 + 20 + 0.1))).epsilon(0.01));
}

TEST_CASE("an iteration of many operations is one event") {
  // Twenty iterations of 24 operations. Rank 5 of eight is late by a millisecond in every other one
  // of an iteration.
  const auto judge = [](std::vector<std::size_t> iterations) {
    std::vector<std::vector<std::int64_t>> late_ns;
    for (std::size_t i = 0; i < std::size_t{20} * 24; ++i) {
      late_ns.emplace_back(8);
      late_ns.back()[5] =
          i % 2 == 0 && std::count(iterations.begin(), iterations.end(), i / 24) > 0 ? kMs : 0;
    }
    return find_late_ranks(all_reduces(8, late_ns, kMs / 2));
  };
  CHECK_FALSE(lateness_of(judge({7}), "rank 5").is_straggler);
  CHECK_FALSE(lateness_of(judge({7, 13}), "rank 5").is_straggler);
  const Stragglers often = judge({2, 5, 8, 11, 15});
  CHECK(lateness_of(often, "rank 5").is_straggler);
  CHECK_FALSE(lateness_of(often, "rank 5").times.every_operations);
  CHECK(lateness_of(judge({12, 13, 14, 15, 16, 17, 18, 19}), "rank 5").is_straggler);
  // Eight iterations of four operations are fewer than there are blocks.
  std::vector<std::vector<std::int64_t>> late_ns(32, std::vector<std::int64_t>(8));
  for (std::size_t i = 12; i < 16; ++i) {
    late_ns[i][5] = 2 * kMs;
  }
  CHECK_FALSE(lateness_of(find_late_ranks(all_reduces(8, late_ns, kMs)), "rank 5").is_straggler);
}

TEST_CASE("a rank that is always late by next to nothing, and much once, was late once") {
  std::vector<std::vector<std::int64_t>> late_ns(600, {0, 3000});
  late_ns[40][1] = 8 * kMs;
  const Stragglers found = find_late_ranks(all_reduces(2, late_ns, kMs / 5));
  const Lateness& rank = lateness_of(found, "rank 1");
  CHECK_FALSE(rank.is_straggler);
  CHECK(rank.was_late_once);
}

// Each rank sends to the next one, and the last one is a millisecond late in each of 200 exchanges.
model::Traces rings(std::uint32_t ranks) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_file(rank, "0x1", ranks);
    for (std::int64_t i = 0; i < 200; ++i) {
      for (const bool is_send : {true, false}) {
        model::Operation& one = builder.add_transfer(is_send ? "Send" : "Recv",
                                                     (rank + (is_send ? 1 : ranks - 1)) % ranks);
        one.group = static_cast<std::uint64_t>(i) + 1;
        set_times(one, (2 * i + 1) * kMs + (rank + 1 == ranks ? kMs : 0),
                  (2 * i + 2) * kMs + kMs / 10);
      }
    }
  }
  return std::move(builder.traces());
}

TEST_CASE("a ring of two ranks may be neighbours of a pipeline, of which one always comes later") {
  const Stragglers pair = find_late_ranks(rings(2));
  const Lateness& later = lateness_of(pair, "rank 1");
  CHECK(pair.most_share_of(later) == Approx(200.0 / (2 * (2 * 199 + 1.1))).epsilon(0.01));
  CHECK_FALSE(later.is_straggler);
  CHECK(lateness_of(find_late_ranks(rings(3)), "rank 2").is_straggler);
}

TEST_CASE("charges go round: who is late by turns is no straggler") {
  std::vector<std::vector<std::int64_t>> late_ns;
  std::uint32_t random = 1;  // of the generator of Numerical Recipes
  for (int i = 0; i < 200; ++i) {
    random = random * 1664525 + 1013904223;
    std::vector<std::int64_t> late(4);
    late[random >> 30U] = kMs;
    late_ns.push_back(late);
  }
  const Stragglers found = find_late_ranks(all_reduces(4, late_ns, kMs));
  for (const Lateness& one : found.ranks) {
    INFO(one.label);
    CHECK_FALSE(one.is_straggler);
    CHECK_FALSE(one.was_late_once);
  }
}

TEST_CASE("what costs all along is found beside a few great delays of other ranks") {
  std::vector<std::vector<std::int64_t>> late_ns;
  for (int i = 0; i < 256; ++i) {
    std::vector<std::int64_t> late(4);
    late[static_cast<std::size_t>(i % 4)] = kMs / 20;
    late[2] += i % 2 == 0 ? kMs / 2 : 0;
    late_ns.push_back(late);
  }
  for (const std::size_t great : {20U, 90U, 170U}) {
    late_ns[great] = {20 * kMs, 0, 0, 0};
  }
  const Stragglers found = find_late_ranks(all_reduces(4, late_ns, kMs));
  // Rank 2 makes three ranks wait 0.5 ms or more for it 126 times: 0.19 s. Rank 0 makes them wait
  // 0.18 s in three operations, which may all fall on one rank by chance.
  CHECK(lateness_of(found, "rank 2").is_straggler);
  for (const char* const other : {"rank 0", "rank 1", "rank 3"}) {
    CHECK_FALSE(lateness_of(found, other).is_straggler);
  }
}

// Ranks 0 and 1 are one communicator, ranks 1 and 2 another one. Rank 0 comes late to the first, so
// rank 1 comes late to the second.
model::Traces cascade(std::int64_t own_ns) {
  TraceBuilder builder;
  constexpr std::int64_t kPeriod_ns = 10 * kMs;
  const auto add = [&](std::uint32_t context, std::uint64_t seq, std::int64_t start_ns,
                       std::int64_t end_ns) {
    model::Operation& one = builder.add("AllReduce", seq);
    one.context = context;
    one.tid = 7;
    one.start_ns = start_ns;
    one.enqueue_start_ns = start_ns;
    one.enqueue_end_ns = start_ns;
    one.end_ns = end_ns;
  };
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 2);
    file.process.launcher_rank = rank;
    model::Context context = file.contexts.begin()->second;
    context.rank = rank == 0 ? 0 : 1;
    file.contexts.begin()->second.rank = context.rank;
    if (rank == 1) {
      context.comm = "0x2";
      context.rank = 0;
      file.contexts[2] = context;
    } else if (rank == 2) {
      file.contexts.begin()->second.comm = "0x2";
    }
    for (std::uint64_t seq = 0; seq < 100; ++seq) {
      const std::int64_t at_ns = kMs + kPeriod_ns * static_cast<std::int64_t>(seq);
      const std::int64_t joined_ns = at_ns + 2 * kMs + kMs / 10;
      if (rank < 2) {
        add(1, seq, rank == 0 ? at_ns + 2 * kMs : at_ns, joined_ns);
      }
      const std::int64_t late_ns = joined_ns + kMs / 10 + own_ns;
      if (rank > 0) {
        add(rank == 1 ? 2 : 1, seq, rank == 1 ? late_ns : at_ns, late_ns + kMs / 10);
      }
    }
  }
  return std::move(builder.traces());
}

TEST_CASE("a victim of a cascade passes its lateness on, and the charges sum to all waiting") {
  const model::Traces traces = cascade(0);
  const Stragglers found = find_late_ranks(traces);
  REQUIRE(found.ranks.size() == 3);
  CHECK(found.ranks.front().label == "rank 0");
  const Lateness& victim = lateness_of(found, "rank 1");
  // Rank 2 waits 2.2 ms for rank 1, which had waited 2 ms for rank 0.
  CHECK(victim.caused_wait_ns == Approx(220 * kMs).epsilon(0.01));
  CHECK(victim.passed_on_ns == Approx(200 * kMs).epsilon(0.01));
  CHECK(victim.cost_ns == Approx(20 * kMs).epsilon(0.1));
  CHECK(lateness_of(found, "rank 0").cost_ns == Approx(400 * kMs).epsilon(0.01));
  std::int64_t sum_ns = 0;
  for (const Lateness& one : found.ranks) {
    sum_ns += one.cost_ns;
  }
  // Less what the stamps leave open of who waited for whom.
  CHECK(sum_ns <= found.waited_ns);
  CHECK(sum_ns == Approx(found.waited_ns).epsilon(0.01));
}

// Six ranks in a circle exchange with both neighbours in one group, and compute a millisecond
// between. Rank 1 is late by 3 ms in some of the `times` exchanges; nobody else ever is. Returns
// how long all wait together.
template <typename IsLate>
std::int64_t run_circle(std::size_t times, const IsLate& is_late, TraceBuilder& builder) {
  constexpr std::uint32_t kRanks = 6;
  struct Transfer {
    bool is_send;
    model::Operation operation;
  };
  std::vector<std::vector<Transfer>> made(kRanks);
  std::vector<std::int64_t> free_ns(kRanks, kMs);
  std::int64_t waited_ns = 0;
  for (std::size_t i = 0; i < times; ++i) {
    free_ns[1] += is_late(i) ? 3 * kMs : 0;
    const std::vector<std::int64_t> starts_ns = free_ns;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (const std::uint32_t peer : {(rank + 1) % kRanks, (rank + kRanks - 1) % kRanks}) {
        for (const bool is_send : {true, false}) {
          model::Operation one;
          one.peer = peer;
          one.group = i + 1;
          one.start_ns = starts_ns[rank];
          one.end_ns =
              kMs / 100 + (is_send ? starts_ns[rank] : std::max(starts_ns[rank], starts_ns[peer]));
          free_ns[rank] = std::max(free_ns[rank], *one.end_ns);
          made[rank].push_back({is_send, one});
        }
      }
      waited_ns += free_ns[rank] - starts_ns[rank] - kMs / 100;
    }
    for (std::int64_t& free : free_ns) {
      free += kMs;
    }
  }
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    builder.add_file(rank, "0x1", kRanks);
    for (const auto& [is_send, of_rank] : made[rank]) {
      model::Operation& one = builder.add_transfer(is_send ? "Send" : "Recv", *of_rank.peer);
      one.group = of_rank.group;
      set_times(one, *of_rank.start_ns, *of_rank.end_ns);
    }
  }
  return waited_ns;
}

TEST_CASE("operations of a group that end one by one pass on what the whole group waited") {
  TraceBuilder builder;
  const std::int64_t waited_ns = run_circle(
      12, [](std::size_t i) { return i == 3; }, builder);
  const Stragglers found = find_late_ranks(builder.traces());
  CHECK(lateness_of(found, "rank 1").cost_most_ns >= waited_ns);
  for (const char* const other : {"rank 0", "rank 2", "rank 3", "rank 4", "rank 5"}) {
    INFO(other);
    CHECK(lateness_of(found, other).cost_ns <= waited_ns / 100);
  }
}

TEST_CASE("a rank that is late for its neighbours again and again is the origin of all waiting") {
  TraceBuilder builder;
  const std::int64_t waited_ns = run_circle(
      60, [](std::size_t /*i*/) { return true; }, builder);
  const Stragglers found = find_late_ranks(builder.traces());
  const Lateness& late = lateness_of(found, "rank 1");
  CHECK(late.cost_ns >= waited_ns * 3 / 4);
  CHECK(late.uncompared_ns == late.cost_ns);
  CHECK(late.cost_most_ns >= waited_ns);
  for (const char* const other : {"rank 0", "rank 2", "rank 3", "rank 4", "rank 5"}) {
    INFO(other);
    CHECK(lateness_of(found, other).cost_ns <= waited_ns / 100);
    CHECK(lateness_of(found, other).cost_most_ns <= waited_ns / 4);
  }
}

// Two replicas of two stages: ranks 0 and 2 send 40 messages each to ranks 1 and 3 in an iteration,
// then 0 and 2, and 1 and 3, run an AllReduce. Rank 0 begins each iteration later than the others.
// Returns how long all wait together.
std::int64_t run_pipeline(std::int64_t late_ns, TraceBuilder& builder) {
  constexpr int kIterations = 50;
  std::vector<std::vector<model::Operation>> made(4);
  std::vector<std::int64_t> free_ns(4, kMs);
  std::int64_t waited_ns = 0;
  const auto add = [&](std::size_t rank, std::uint32_t context, std::int64_t end_ns) {
    model::Operation one;
    one.context = context;
    one.start_ns = free_ns[rank];
    one.end_ns = free_ns[rank] = end_ns;
    made[rank].push_back(one);
  };
  for (int i = 0; i < kIterations; ++i) {
    free_ns[0] += late_ns;
    for (int k = 0; k < 40; ++k) {
      for (const std::size_t sender : {0U, 2U}) {
        free_ns[sender] += kMs / 10;
        const std::int64_t sent_ns = free_ns[sender];
        waited_ns += std::max<std::int64_t>(sent_ns - free_ns[sender + 1], 0);
        add(sender, 1, sent_ns + kMs / 100);
        add(sender + 1, 1, std::max(sent_ns, free_ns[sender + 1]) + kMs / 100);
      }
    }
    for (const std::size_t stage : {0U, 1U}) {
      const std::int64_t last_ns = std::max(free_ns[stage], free_ns[stage + 2]);
      waited_ns += last_ns - std::min(free_ns[stage], free_ns[stage + 2]);
      add(stage, 2, last_ns + kMs / 10);
      add(stage + 2, 2, last_ns + kMs / 10);
    }
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0xa" + std::to_string(rank / 2), 2);
    file.contexts[1].rank = rank % 2;
    file.contexts[2] = file.contexts[1];
    file.contexts[2].comm = "0xb" + std::to_string(rank % 2);
    file.contexts[2].rank = rank / 2;
    std::uint64_t number = 0;
    for (const model::Operation& of_rank : made[rank]) {
      model::Operation& one =
          of_rank.context == 2
              ? builder.add("AllReduce", number++)
              : builder.add_transfer(rank % 2 == 0 ? "Send" : "Recv", 1 - rank % 2);
      one.context = of_rank.context;
      set_times(one, *of_rank.start_ns, *of_rank.end_ns);
    }
    file.contexts[1].operations = made[rank].size() - number;
    file.contexts[2].operations = number;
  }
  return waited_ns;
}

TEST_CASE("a late rank of a pipeline is found behind any number of messages") {
  TraceBuilder without;
  TraceBuilder builder;
  const std::int64_t others_ns = run_pipeline(0, without);
  const std::int64_t truth_ns = run_pipeline(5 * kMs, builder) - others_ns;
  const Stragglers found = find_late_ranks(builder.traces());
  for (const Lateness& one : found.ranks) {
    INFO(one.pid);
    CHECK(one.is_straggler == (one.pid == 100));
    CHECK(one.cost_ns <= truth_ns + others_ns);
    CHECK(one.cost_most_ns >= (one.pid == 100 ? truth_ns : 0));
  }
}

TEST_CASE("a few operations of a second communicator say nothing of noise in the first") {
  // Eight iterations of twelve AllReduces of 16 ranks. Each rank is up to half slower for a whole
  // iteration; all are alike. The same ranks have a second communicator, with four operations.
  constexpr std::uint32_t kRanks = 16;
  constexpr std::uint32_t kLayers = 12;
  for (std::uint32_t seed = 1; seed <= (kIsSanitized ? 2U : 10U); ++seed) {
    INFO(seed);
    std::uint32_t random = seed * 2654435761U + 1;
    const auto draw = [&] {
      random = random * 1664525 + 1013904223;
      return static_cast<std::int64_t>(random >> 16U) * kMs / 2 / 65536;
    };
    std::vector<std::vector<model::Operation>> made(kRanks);
    std::vector<std::int64_t> free_ns(kRanks, kMs);
    std::uint64_t seq[] = {0, 0};
    const auto all_reduce = [&](std::uint32_t context) {
      const std::int64_t end_ns = *std::max_element(free_ns.begin(), free_ns.end()) + kMs / 20;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        model::Operation one;
        one.context = context;
        one.seq = seq[context - 1];
        one.start_ns = free_ns[rank];
        one.end_ns = free_ns[rank] = end_ns;
        made[rank].push_back(one);
      }
      ++seq[context - 1];
    };
    all_reduce(1);
    all_reduce(2);
    for (int iteration = 0; iteration < 8; ++iteration) {
      std::vector<std::int64_t> slower_ns(kRanks);
      std::generate(slower_ns.begin(), slower_ns.end(), draw);
      for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
          free_ns[rank] += kMs + slower_ns[rank] + draw() / 100;
        }
        all_reduce(1);
      }
      if (iteration % 3 == 1) {
        all_reduce(2);
      }
    }
    TraceBuilder builder;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
      file.contexts[2] = file.contexts[1];
      file.contexts[2].comm = "0x2";
      for (const model::Operation& of_rank : made[rank]) {
        model::Operation& one = builder.add("AllReduce", of_rank.seq);
        one.context = of_rank.context;
        set_times(one, *of_rank.start_ns, *of_rank.end_ns);
      }
      file.contexts[1].operations = seq[0];
      file.contexts[2].operations = seq[1];
    }
    for (const Lateness& one : find_late_ranks(builder.traces()).ranks) {
      CHECK_FALSE(one.is_straggler);
    }
  }
}

TEST_CASE("what a victim adds by itself stays its own") {
  const Stragglers found = find_late_ranks(cascade(3 * kMs));
  const Lateness& rank = lateness_of(found, "rank 1");
  CHECK(rank.passed_on_ns == Approx(200 * kMs).epsilon(0.01));
  CHECK(rank.cost_ns == Approx(320 * kMs).epsilon(0.01));
}

// Charges of 8 subjects in 32 blocks: one event in each of so many blocks, of a subject that a rule
// chooses.
template <typename Choose>
ExchangeResult test(int events, Choose choose) {
  ExchangeInput input;
  input.subjects = 8;
  for (int b = 0; b < 32; ++b) {
    ExchangeBlock block;
    for (std::uint32_t subject = 0; subject < 8; ++subject) {
      const double charge = b < events && choose(b) == subject ? 100 : 0;
      block.members.push_back({subject, charge, charge});
    }
    input.blocks.push_back(block);
  }
  return test_exchange(input, std::vector<bool>(8, true), 0.003);
}

TEST_CASE("the exchange knows a rank from chance") {
  const auto always = [](int) { return 5U; };
  CHECK(test(32, always).subjects == std::vector<std::uint32_t>{5});
  CHECK(test(32, always).chance < 0.003);
  CHECK(test(10, always).chance < 0.003);  // 8 to the minus 9
  CHECK(test(1, always).chance > 0.5);     // some rank has to be the one
  CHECK(test(2, always).chance > 0.03);    // an eighth
  CHECK(test(32, [](int b) { return static_cast<std::uint32_t>(b * 5 % 8); }).chance > 0.1);
}

// An autoregression of first order, of 64 blocks, that keeps so much of itself from one to the
// next.
BlockTimes noise(std::uint32_t seed, double kept, double more) {
  BlockTimes times;
  std::uint64_t random = seed * 2654435761U + 1;
  double state = 0;
  for (int i = -200; i < 64; ++i) {
    double fresh = -6;  // twelve uniform numbers are nearly normal
    for (int k = 0; k < 12; ++k) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      fresh += static_cast<double>(random >> 11U) * 0x1p-53;
    }
    state = kept * state + std::sqrt(1 - kept * kept) * fresh;
    if (i >= 0) {
      times.push_back(10 + state + more);
    }
  }
  return times;
}

// Counts in how many of 200 jobs a suspect that takes so much more has a chance below a hundredth.
int found_of_200(double kept, double more, std::uint32_t others) {
  int found = 0;
  for (std::uint32_t job = 0; job < 200; ++job) {
    std::vector<BlockTimes> beside;
    for (std::uint32_t i = 0; i < others; ++i) {
      beside.push_back(noise(1000 * job + i + 1, kept, 0));
    }
    const double chance = chance_of_lasting_noise(noise(1000 * job, kept, more), beside);
    found += chance * (others + 1) < 0.01 ? 1 : 0;
  }
  return found;
}

TEST_CASE("what is slower for the whole of a job is known from noise that lasts") {
  for (const std::uint32_t others : {1U, 3U, 7U}) {
    INFO(others);
    CHECK(found_of_200(0, 3, others) >= 190);  // 3 standard deviations in each of 64 blocks
    // One of all that are alike. The sum of 64 blocks that keep 0.97 varies six times as much as
    // that of independent ones.
    CHECK(found_of_200(0, 0, others) <= 4);
    CHECK(found_of_200(0.9, 0, others) <= 4);
    CHECK(found_of_200(0.97, 0, others) <= 4);
  }
  CHECK(found_of_200(0.97, 10, 7) >= 190);
}

TEST_CASE("sums that differ by themselves tell of noise that lasts, however even the blocks are") {
  std::vector<BlockTimes> others;
  for (std::uint32_t i = 0; i < 7; ++i) {
    BlockTimes times = noise(i + 1, 0, 0);
    for (double& time : times) {
      time = time / 100 + i;
    }
    others.push_back(times);
  }
  const auto suspect = [](double more) {
    BlockTimes times = noise(99, 0, 0);
    for (double& time : times) {
      time = time / 100 + more;
    }
    return times;
  };
  CHECK(chance_of_lasting_noise(suspect(7), others) > 0.01);
  CHECK(chance_of_lasting_noise(suspect(100), others) < 0.001);
  CHECK(chance_of_lasting_noise({1, 2, 3}, {{0, 0, 0}}) == 0);  // too few blocks
  CHECK(chance_of_lasting_noise(suspect(100), {}) == 0);
}

TEST_CASE("of ranks that surely cost little, the one that may cost most is told first") {
  Stragglers found;
  found.all_time_ns = 100 * kMs;
  const auto add = [&](const std::string& label, std::int64_t cost_ns, std::int64_t cost_most_ns) {
    Lateness& rank = found.ranks.emplace_back();
    rank.label = label;
    rank.cost_ns = cost_ns;
    rank.cost_most_ns = cost_most_ns;
  };
  add("rank 2", kMs, 10 * kMs);
  add("rank 0", 0, 0);
  add("rank 1", 0, 36 * kMs);
  const auto labels = [&](double limit) {
    std::vector<std::string> all;
    for (const Lateness* const one : found.find_open(limit)) {
      all.push_back(one->label);
    }
    return all;
  };
  CHECK(labels(0.05) == std::vector<std::string>{"rank 1", "rank 2"});
  CHECK(labels(0.005) == std::vector<std::string>{"rank 2", "rank 1"});  // it surely costs more
}

}  // namespace
}  // namespace ringside::metrics
