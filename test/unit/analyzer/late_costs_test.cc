// SPDX-License-Identifier: Apache-2.0
//
// Tests that each moment of a rank's waiting counts once, and that what cannot be seen stays
// possible. Times are made by hand, so the truth is in each test.
#include "analyzer/metrics/late_costs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/metrics/overlap.h"
#include "analyzer/metrics/rank_waits.h"
#include "test/unit/analyzer/late_ranks.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kTimes = 100;
constexpr std::int64_t kPeriod_ns = 2 * kMs;
constexpr std::int64_t kLate_ns = kMs / 5;

// One operation of a rank, whose call is at its start, so that stamps of the GPU have no error.
model::Operation& add(TraceBuilder& builder, const std::string& func, std::int64_t seq,
                      std::int64_t start_ns, std::int64_t end_ns) {
  model::Operation& one = builder.add(func, static_cast<std::uint64_t>(seq));
  one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns = start_ns;
  one.end_ns = end_ns;
  return one;
}

struct Found {
  explicit Found(const model::Traces& traces)
      : matches(match::match_operations(traces)),
        alignment(align::Alignment::estimate(traces)),
        facts(traces, matches, alignment),
        late(find_stragglers(facts)) {}

  const Lateness& rank(std::uint32_t number) const {
    return lateness_of(late, "rank " + std::to_string(number));
  }

  match::Matches matches;
  align::Alignment alignment;
  facts::Facts facts;
  Stragglers late;
};

// The share of all ranks' time of that many waits of kLate_ns.
double share_of(std::int64_t waits, std::uint32_t ranks, std::int64_t last_ns) {
  return static_cast<double>(waits) * static_cast<double>(kLate_ns) /
         (static_cast<double>(ranks) * static_cast<double>(last_ns));
}

TEST_CASE("ranks wait once in the operations of a group, and in those of several streams") {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::int64_t kTogether = 8;
  const bool are_grouped = GENERATE(true, false);
  INFO(are_grouped);
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    file.process.launcher_rank = rank;
    if (!are_grouped) {
      model::Context other = file.contexts.begin()->second;
      other.operations = kTimes;
      for (std::uint32_t context = 2; context <= kTogether; ++context) {
        other.comm = std::to_string(context);
        file.contexts[context] = other;
      }
    }
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = i * kPeriod_ns;
      for (std::int64_t k = 0; k < kTogether; ++k) {
        model::Operation& one = add(builder, "AllReduce", are_grouped ? i * kTogether + k : i,
                                    at_ns + (rank == 2 ? kLate_ns : 0), at_ns + kMs);
        if (are_grouped) {
          one.group = static_cast<std::uint64_t>(i);
        } else {
          one.context = static_cast<std::uint32_t>(k + 1);
        }
      }
    }
  }
  const Found found(builder.traces());
  const std::int64_t last_ns = (kTimes - 1) * kPeriod_ns + kMs;
  const double truth = share_of(3 * kTimes, kRanks, last_ns);
  const Lateness& late = found.rank(2);
  CHECK(found.late.operations == static_cast<std::uint64_t>(kTimes * kTogether));
  CHECK(found.late.share(found.late.waited_ns) == Approx(truth).epsilon(0.02));
  CHECK(found.late.share(found.late.waited_ns) <= truth);
  CHECK(found.late.share(found.late.waited_most_ns) >= truth);
  CHECK(found.late.share(found.late.waited_most_ns) == Approx(truth).epsilon(0.05));
  CHECK(found.late.share_of(late) <= truth);
  CHECK(found.late.share_of(late) == Approx(truth).epsilon(0.02));
  CHECK(found.late.most_share_of(late) >= truth);
  // Each of the other seven may have gone on for the microseconds that stamps are off.
  CHECK(found.late.most_share_of(late) == Approx(truth).epsilon(0.08));
  const GlobalRanks who(found.facts.traces(), found.matches);
  RankWaits waits(found.facts, who);
  std::vector<std::uint32_t> all(found.matches.operations.size());
  std::iota(all.begin(), all.end(), 0);
  found.facts.ranks_of_each(
      std::span<const std::uint32_t>(all),
      [&](std::size_t /*place*/, const facts::SeenOperation& seen) { waits.add(0, seen); });
  std::int64_t summed_ns = 0;
  for (const std::uint32_t operation : all) {
    const auto of_operation = waits.of(operation);
    REQUIRE(of_operation);
    for (const ChargedWait& wait : *of_operation) {
      CHECK(wait.rank == 2);
      summed_ns += wait.waited_ns;
    }
  }
  // These are the waits in each operation, and those of several streams are several.
  CHECK(summed_ns == 3 * kTimes * kLate_ns * (are_grouped ? 1 : kTogether));
  const Overlap overlap = find_overlap(found.facts);
  for (const RankOverlap& one : overlap.ranks) {
    INFO(one.label);
    const std::int64_t waited_ns = one.label == "rank 2" ? 0 : kTimes * kLate_ns;
    CHECK(one.waiting_least_ns <= waited_ns);
    CHECK(one.waiting_most_ns >= waited_ns);
    CHECK(one.waiting_most_ns <= one.busy_ns);
  }
}

// Ranks 2 and 3 get their data through rank 1, which comes late.
TEST_CASE("a rank that passes data on may cost what the ranks behind it waited") {
  constexpr std::uint32_t kRanks = 4;
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    builder.add_file(rank, "0x1", kRanks);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = i * kPeriod_ns;
      model::Operation& one = add(builder, "Broadcast", i, at_ns + (rank == 1 ? kLate_ns : 0),
                                  at_ns + (rank == 0 ? kMs / 10 : kLate_ns + kMs / 10));
      one.root = 0;
    }
  }
  const Found found(builder.traces());
  const double truth =
      share_of(2 * kTimes, kRanks, (kTimes - 1) * kPeriod_ns + kLate_ns + kMs / 10);
  const Lateness& late = found.rank(1);
  CHECK(late.cost_ns == 0);
  CHECK(found.late.most_share_of(late) >= truth);
  CHECK(found.late.most_share_of(late) < 2 * truth);
  CHECK(found.rank(3).cost_most_ns < late.cost_most_ns / 6);
}

// The data of a send does not fit into buffers, so it ends when the receiver has come.
TEST_CASE("a receiver may cost what its sender waited") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = i * kPeriod_ns;
      model::Operation& one = builder.add_transfer(rank == 0 ? "Send" : "Recv", 1 - rank);
      one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns = at_ns + (rank == 1 ? kLate_ns : 0);
      one.end_ns = at_ns + kLate_ns + kMs / 10;
    }
  }
  const Found found(builder.traces());
  const double truth = share_of(kTimes, 2, (kTimes - 1) * kPeriod_ns + kLate_ns + kMs / 10);
  CHECK(found.rank(1).cost_ns == 0);
  CHECK(found.late.most_share_of(found.rank(1)) >= truth);
  CHECK(found.late.most_share_of(found.rank(1)) < 1.1 * truth);
  CHECK(found.rank(0).cost_most_ns < kTimes * kLate_ns / 10);
}

TEST_CASE("calls do not tell who waited") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      model::Operation& one = builder.add("AllReduce", static_cast<std::uint64_t>(i));
      one.times_from = model::TimesFrom::kEnqueue;
      one.state = model::State::kEnqueued;
      one.enqueue_start_ns = i * kPeriod_ns + (rank == 1 ? kLate_ns : 0);
      one.enqueue_end_ns = *one.enqueue_start_ns + 1000;
      one.start_ns = {};
      one.end_ns = {};
    }
  }
  const Found found(builder.traces());
  CHECK(static_cast<std::int64_t>(found.late.by_call) == kTimes);
  CHECK(found.late.has_untold());
  CHECK(found.late.decided + found.late.undecided == 0);
  CHECK(found.rank(1).judged == 0);
  CHECK(found.late.waited_ns == 0);
}

// Rank 1 has only its call, long before the others', and it begins last.
TEST_CASE("a rank of which only the call is known may cost what the others were there") {
  constexpr std::uint32_t kRanks = 3;
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    builder.add_file(rank, "0x1", kRanks);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = i * kPeriod_ns;
      model::Operation& one = add(builder, "AllReduce", i, at_ns, at_ns + kLate_ns + kMs / 10);
      if (rank == 1) {
        one.times_from = model::TimesFrom::kEnqueue;
        one.state = model::State::kEnqueued;
        one.enqueue_start_ns = at_ns - kMs;
        one.enqueue_end_ns = at_ns - kMs + 1000;
        one.start_ns = {};
        one.end_ns = {};
      }
    }
  }
  const Found found(builder.traces());
  CHECK(found.late.by_call == 0);
  CHECK(found.late.waited_ns == 0);
  CHECK(found.rank(1).cost_ns == 0);
  CHECK(found.rank(1).cost_most_ns >= 2 * kTimes * kLate_ns);
  // Another one may have come last, and rank 1 have waited since its call.
  CHECK(found.rank(0).cost_most_ns >= kTimes * kMs);
}

// Each rank sends to the next one, then those with even numbers and those with odd ones are a
// communicator each. So what a rank is late for reaches it by ever more ways.
TEST_CASE("the origins of waits are as many as ranks, by however many ways they come") {
  constexpr std::uint32_t kRanks = 8;
  constexpr std::int64_t kTransfer_ns = 20'000;
  struct Step {
    const char* func;
    std::uint32_t peer;
    std::int64_t start_ns;
    std::int64_t end_ns;
  };
  std::vector<std::vector<Step>> steps(kRanks);
  std::vector<std::int64_t> ready_ns(kRanks);
  std::mt19937_64 random(20261126);
  for (std::int64_t i = 0; i < kTimes; ++i) {
    for (std::int64_t& own_ns : ready_ns) {
      own_ns += std::uniform_int_distribution<std::int64_t>(9 * kMs / 10, 11 * kMs / 10)(random);
    }
    for (std::uint32_t rank = 0; rank + 1 < kRanks; ++rank) {
      const std::int64_t got_ns = std::max(ready_ns[rank], ready_ns[rank + 1]) + kTransfer_ns;
      steps[rank].push_back({"Send", rank + 1, ready_ns[rank], ready_ns[rank] + kTransfer_ns});
      steps[rank + 1].push_back({"Recv", rank, ready_ns[rank + 1], got_ns});
      ready_ns[rank] += kTransfer_ns;
      ready_ns[rank + 1] = got_ns;
    }
    std::array<std::int64_t, 2> last_ns{};
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      last_ns[rank % 2] = std::max(last_ns[rank % 2], ready_ns[rank]);
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::int64_t end_ns = last_ns[rank % 2] + kMs / 10;
      steps[rank].push_back({"ReduceScatter", 0, ready_ns[rank], end_ns});
      ready_ns[rank] = end_ns;
    }
  }
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    file.process.launcher_rank = rank;
    model::Context half = file.contexts.begin()->second;
    half.comm = rank % 2 == 0 ? "0x2" : "0x3";
    half.nranks = kRanks / 2;
    half.rank = rank / 2;
    half.operations = kTimes;
    file.contexts[2] = half;
    std::uint64_t seq = 0;
    for (const Step& step : steps[rank]) {
      const bool is_transfer = std::string_view(step.func) != "ReduceScatter";
      model::Operation& one =
          is_transfer ? builder.add_transfer(step.func, step.peer) : builder.add(step.func, seq++);
      one.context = is_transfer ? 1 : 2;
      one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns = step.start_ns;
      one.end_ns = step.end_ns;
    }
  }
  const Found found(builder.traces());
  std::int64_t cost_ns = 0;
  for (const Lateness& one : found.late.ranks) {
    cost_ns += one.cost_ns;
  }
  CHECK(found.late.operations == static_cast<std::uint64_t>(kTimes) * (kRanks - 1 + 2));
  CHECK(found.late.waited_ns > 0);
  CHECK(cost_ns <= found.late.waited_ns);
}

// Adds a rank of four that are in pairs of two kinds: context 1 is of ranks 0, 1 or 2, 3, and
// context 2 of ranks 0, 2 or 1, 3.
model::TraceFile& add_to_pairs(TraceBuilder& builder, std::uint32_t rank) {
  model::TraceFile& file = builder.add_file(rank, "0xa" + std::to_string(rank / 2), 2);
  file.contexts[1].rank = rank % 2;
  file.contexts[2] = file.contexts[1];
  file.contexts[2].comm = "0xb" + std::to_string(rank % 2);
  file.contexts[2].rank = rank / 2;
  return file;
}

const Lateness& of_pid(const Stragglers& found, std::int32_t pid) {
  return *std::find_if(found.ranks.begin(), found.ranks.end(),
                       [&](const Lateness& one) { return one.pid == pid; });
}

TEST_CASE("a rank that another stream held for longer passes that on") {
  // Pairs of two kinds: ranks 0, 1 and 2, 3 for tensors, 0, 2 and 1, 3 for data. One operation of
  // each runs at the same time, then another one of tensors. Rank 1 comes 5 ms late: ranks 0 and 3
  // wait for it, and rank 2 then for rank 3, which left the first one of tensors together with it.
  constexpr std::int64_t kMillisecond_ns = 1'000'000;
  constexpr std::int64_t kBehind_ns = 5 * kMillisecond_ns;
  constexpr int kIterations = 100;
  TraceBuilder builder;
  const model::NameId streams[] = {builder.traces().names.id("0x1"),
                                   builder.traces().names.id("0x2")};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    add_to_pairs(builder, rank);
    const auto add = [&](std::uint32_t context, std::uint64_t seq, std::int64_t start_ns,
                         std::int64_t end_ns) {
      model::Operation& one = builder.add("AllReduce", seq);
      if (context == 2) {
        one.context = 2;
        --builder.traces().files.back().contexts[1].operations;
        ++builder.traces().files.back().contexts[2].operations;
      }
      one.stream = streams[context - 1];
      one.enqueue_start_ns = one.start_ns = start_ns;
      one.end_ns = end_ns;
    };
    for (int i = 0; i < kIterations; ++i) {
      const std::int64_t at_ns = kMillisecond_ns + 20 * kMillisecond_ns * i;
      const std::int64_t start_ns = at_ns + (rank == 1 ? kBehind_ns : 0);
      const std::int64_t data_end_ns =
          at_ns + kMillisecond_ns / 10 + (rank % 2 == 1 ? kBehind_ns : 0);
      const std::int64_t tensor_end_ns = at_ns + kMillisecond_ns / 10 + (rank < 2 ? kBehind_ns : 0);
      const auto number = static_cast<std::uint64_t>(i);
      add(2, number, start_ns, data_end_ns);
      add(1, 2 * number, start_ns, tensor_end_ns);
      add(1, 2 * number + 1, std::max(data_end_ns, tensor_end_ns) + kMillisecond_ns / 5,
          at_ns + kBehind_ns + kMillisecond_ns / 2);
    }
  }
  const Stragglers found = find_late_ranks(builder.traces());
  const Lateness late = of_pid(found, 101);
  CHECK(late.cost_ns == Approx(3 * kIterations * kBehind_ns).epsilon(0.01));
  CHECK(late.cost_most_ns >= 3 * kIterations * kBehind_ns);
  CHECK(of_pid(found, 103).cost_ns <= kMillisecond_ns);
  CHECK_FALSE(of_pid(found, 103).is_straggler);
}

TEST_CASE("a stream runs its kernels in their order, though their stamps overlap") {
  // Pairs as above, on one stream: tensors, then data. Stamps of tensors' kernels are 2 us late,
  // and those for data begin 1 us behind them. Rank 3 comes 5 ms late, so rank 2 does to its
  // second.
  constexpr std::int64_t kMicrosecond_ns = 1000;
  constexpr std::int64_t kBehind_ns = 5'000 * kMicrosecond_ns;
  constexpr std::int64_t kRan_ns = 100 * kMicrosecond_ns;
  constexpr int kIterations = 100;
  const bool has_stream = GENERATE(true, false);
  INFO(has_stream);
  TraceBuilder builder;
  const model::NameId stream = has_stream ? builder.traces().names.id("0x1") : model::kNoName;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::TraceFile& file = add_to_pairs(builder, rank);
    for (int i = 0; i < kIterations; ++i) {
      const std::int64_t at_ns = 1'000 * kMicrosecond_ns + 20'000 * kMicrosecond_ns * i;
      const std::int64_t behind_ns = i == 0 ? 0 : kBehind_ns;
      const std::int64_t call_ns = at_ns + (rank == 3 ? behind_ns : 0);
      const std::int64_t tensor_end_ns = at_ns + kRan_ns + (rank >= 2 ? behind_ns : 0);
      const auto add = [&](std::uint32_t context, std::int64_t start_ns, std::int64_t end_ns) {
        model::Operation& one = builder.add("AllReduce", static_cast<std::uint64_t>(i));
        one.context = context;
        one.stream = stream;
        one.enqueue_start_ns = call_ns - 8 * kMicrosecond_ns;
        one.start_ns = start_ns;
        one.end_ns = end_ns;
      };
      add(1, call_ns + 2 * kMicrosecond_ns, tensor_end_ns + 2 * kMicrosecond_ns);
      add(2, tensor_end_ns + kMicrosecond_ns, at_ns + behind_ns + 2 * kRan_ns);
    }
    file.contexts[1].operations = file.contexts[2].operations = kIterations;
  }
  const Stragglers found = find_late_ranks(builder.traces());
  constexpr std::int64_t kWaited_ns = 3 * (kIterations - 1) * kBehind_ns;
  // Without a stream they may have run beside each other. Then two waits are sure.
  CHECK(of_pid(found, 103).cost_ns ==
        Approx(has_stream ? kWaited_ns : kWaited_ns / 3 * 2).epsilon(0.03));
  CHECK(of_pid(found, 103).cost_ns <= kWaited_ns);
  CHECK(of_pid(found, 103).cost_most_ns >= kWaited_ns);
  CHECK(of_pid(found, 102).cost_ns <= kIterations * kRan_ns);
  CHECK_FALSE(of_pid(found, 102).is_straggler);
}

TEST_CASE("what both had waited in other communicators is not passed on") {
  // Pairs as above, on one stream. Ranks 0 and 2 wait 5 ms each for tensors, of ranks 1 and 3. Then
  // rank 0 computes 5 ms longer than rank 2, which waits for it: it would without the first waits.
  constexpr std::int64_t kBehind_ns = 5 * kMs;
  TraceBuilder builder;
  const model::NameId stream = builder.traces().names.id("0x1");
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::TraceFile& file = add_to_pairs(builder, rank);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = kMs + i * 20 * kMs;
      const std::int64_t tensor_end_ns = at_ns + kBehind_ns + kMs / 10;
      const std::int64_t data_ns = tensor_end_ns + kMs / 10;
      const auto add_one = [&](std::uint32_t context, std::int64_t start_ns, std::int64_t end_ns) {
        model::Operation& one = add(builder, "AllReduce", i, start_ns, end_ns);
        one.context = context;
        one.stream = stream;
      };
      add_one(1, at_ns + (rank % 2 == 1 ? kBehind_ns : 0), tensor_end_ns);
      add_one(2, data_ns + (rank == 0 ? kBehind_ns : 0),
              data_ns + (rank % 2 == 0 ? kBehind_ns : 0) + kMs / 10);
    }
    file.contexts[1].operations = file.contexts[2].operations = kTimes;
  }
  const Stragglers found = find_late_ranks(builder.traces());
  for (const std::int32_t pid : {100, 101, 103}) {
    INFO(pid);
    CHECK(of_pid(found, pid).cost_most_ns >= kTimes * kBehind_ns);
    CHECK(of_pid(found, pid).cost_ns <= kTimes * kBehind_ns);
  }
}

TEST_CASE("a rank in a ring passes on what it waited over any number of operations") {
  // Each rank sends to the next one and needs what the one before it sends. Rank 3 computes 1 ms
  // longer, and is the only reason to wait: the others come later and later.
  constexpr std::uint32_t kRanks = 4;
  std::vector<std::vector<std::int64_t>> starts_ns(kTimes, std::vector<std::int64_t>(kRanks, kMs));
  std::vector<std::vector<std::int64_t>> ends_ns = starts_ns;
  std::int64_t waited_ns = 0;
  for (std::size_t i = 0; i < kTimes; ++i) {
    for (std::uint32_t rank = 0; i > 0 && rank < kRanks; ++rank) {
      starts_ns[i][rank] = ends_ns[i - 1][rank] + kMs / 5 + (rank == 3 ? kMs : 0);
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::int64_t needed_ns = starts_ns[i][(rank + kRanks - 1) % kRanks];
      waited_ns += std::max<std::int64_t>(needed_ns - starts_ns[i][rank], 0);
      ends_ns[i][rank] = std::max(starts_ns[i][rank], needed_ns) + kMs / 20;
    }
  }
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    builder.add_file(rank, "0x1", kRanks);
    for (std::size_t i = 0; i < kTimes; ++i) {
      for (const bool is_send : {true, false}) {
        model::Operation& one = builder.add_transfer(is_send ? "Send" : "Recv",
                                                     (rank + (is_send ? 1 : kRanks - 1)) % kRanks);
        one.group = i + 1;
        one.enqueue_start_ns = one.enqueue_end_ns = one.start_ns = starts_ns[i][rank];
        one.end_ns = is_send ? starts_ns[i][rank] + kMs / 20 : ends_ns[i][rank];
      }
    }
  }
  const Stragglers found = find_late_ranks(builder.traces());
  CHECK(lateness_of(found, "rank 3").cost_most_ns >= waited_ns);
  for (const char* const other : {"rank 0", "rank 1", "rank 2"}) {
    INFO(other);
    CHECK(lateness_of(found, other).cost_ns <= waited_ns / 100);
    CHECK_FALSE(lateness_of(found, other).is_straggler);
  }
}

TEST_CASE("what a rank may cost is not taken for another one's that may have been late meanwhile") {
  // Rank 0 runs an operation with rank 1, and beside it, on another stream, one with rank 2. Both
  // take 5 ms of its time. Nothing is known of the hosts' clocks. The first one has 5 ms of data;
  // to the second one rank 2 comes 4.9 ms late. There are no others that pass lateness on.
  constexpr std::int64_t kBehind_ns = 49 * kMs / 10;
  TraceBuilder builder;
  const model::NameId streams[] = {builder.traces().names.id("0x1"),
                                   builder.traces().names.id("0x2")};
  const auto add_file = [&](std::uint32_t process, std::uint32_t rank, const char* comm) {
    model::TraceFile& file = builder.add_file(process, comm, 2);
    file.contexts[1].rank = rank;
    file.process.host = "node" + std::to_string(process);
    return &file;
  };
  const auto add_one = [&](std::uint32_t context, std::size_t stream, std::int64_t behind_ns) {
    model::Operation& one = add(builder, "AllReduce", 0, kMs + behind_ns, 6 * kMs);
    one.stream = streams[stream];
    one.context = context;
  };
  model::TraceFile* const both = add_file(0, 0, "0xa");
  both->contexts[2] = both->contexts[1];
  both->contexts[2].comm = "0xb";
  add_one(1, 0, 0);
  add_one(2, 1, 0);
  both->contexts[1].operations = both->contexts[2].operations = 1;
  add_file(1, 1, "0xa");
  add_one(1, 0, 0);
  add_file(2, 1, "0xb");
  add_one(1, 1, kBehind_ns);
  const model::Traces& traces = builder.traces();
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::none(traces);
  const Stragglers found = find_stragglers(facts::Facts(traces, matches, alignment));
  for (const std::int32_t pid : {101, 102}) {
    const auto late = std::find_if(found.ranks.begin(), found.ranks.end(),
                                   [&](const Lateness& one) { return one.pid == pid; });
    REQUIRE(late != found.ranks.end());
    CHECK(late->cost_ns == 0);
    CHECK(late->cost_most_ns >= kBehind_ns);
  }
}

// Ranks 0, 1 and 2, 3 are pairs for tensors, ranks 0, 2 and 1, 3 for data. In each iteration pairs
// of tensors run `tensors` operations, the first of which rank 1 comes 1 ms late to, and then those
// of data one: there the ranks of the second pair wait. `has_all`: else rank 1 has no trace.
model::Traces& late_in_tensors(TraceBuilder& builder, int tensors, bool has_all) {
  constexpr std::int64_t kStep_ns = kMs / 50;
  const model::NameId stream = builder.traces().names.id("0x1");
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    if (rank == 1 && !has_all) {
      continue;
    }
    model::TraceFile& file = add_to_pairs(builder, rank);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = kMs + i * 20 * kMs;
      const std::int64_t behind_ns = rank < 2 ? kMs : 0;
      const auto add_one = [&](std::uint32_t context, std::int64_t seq, std::int64_t start_ns,
                               std::int64_t end_ns) {
        model::Operation& one = add(builder, "AllReduce", seq, start_ns, end_ns);
        one.context = context;
        one.stream = stream;
      };
      for (std::int64_t k = 0; k < tensors; ++k) {
        const std::int64_t begin_ns = at_ns + k * kStep_ns;
        add_one(1, i * tensors + k, begin_ns + (k > 0 || rank == 1 ? behind_ns : 0),
                begin_ns + behind_ns + kStep_ns / 2);
      }
      const std::int64_t data_ns = at_ns + tensors * kStep_ns;
      add_one(2, i, data_ns + behind_ns, data_ns + kMs + kStep_ns / 2);
    }
    file.contexts[1].operations = static_cast<std::uint64_t>(kTimes * tensors);
    file.contexts[2].operations = kTimes;
  }
  return builder.traces();
}

TEST_CASE("a rank passes on what it waited before many operations of its communicator") {
  TraceBuilder builder;
  const Stragglers found = find_late_ranks(late_in_tensors(builder, GENERATE(8, 9, 100), true));
  // The stamps of each operation leave a microsecond open.
  CHECK(of_pid(found, 101).cost_ns == Approx(3 * kTimes * kMs).epsilon(0.08));
  CHECK(of_pid(found, 101).cost_ns <= 3 * kTimes * kMs);
  CHECK(of_pid(found, 101).cost_most_ns >= 3 * kTimes * kMs);
  CHECK(of_pid(found, 101).is_straggler);
  CHECK(of_pid(found, 100).cost_ns <= kTimes * kMs / 100);
  CHECK_FALSE(of_pid(found, 100).is_straggler);
}

TEST_CASE("a rank may have waited in an operation of which another one has no trace") {
  TraceBuilder builder;
  const Stragglers found = find_late_ranks(late_in_tensors(builder, 2, false));
  CHECK(found.has_untold());  // two of three operations are not recorded on all ranks
  CHECK(of_pid(found, 100).caused_wait_ns >= kTimes * kMs * 9 / 10);
  CHECK(of_pid(found, 100).cost_ns <= kTimes * kMs / 10);
  CHECK_FALSE(of_pid(found, 100).is_straggler);
}

// Each rank is on a host whose clock nothing bounds, and of rank 1 only the calls are known.
TEST_CASE(
    "a rank of another host of which only the call is known may cost what the others were there") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", 2);
    file.process.host = "node" + std::to_string(rank);
    for (std::int64_t i = 0; i < kTimes; ++i) {
      const std::int64_t at_ns = i * kPeriod_ns;
      model::Operation& one = add(builder, "AllReduce", i, at_ns, at_ns + kMs);
      if (rank == 1) {
        one.times_from = model::TimesFrom::kEnqueue;
        one.state = model::State::kEnqueued;
        one.start_ns = {};
        one.end_ns = {};
      }
    }
  }
  const Found found(builder.traces());
  CHECK(found.rank(1).cost_most_ns >= kTimes * kMs * 9 / 10);
  CHECK(found.rank(1).cost_ns == 0);
}

}  // namespace
}  // namespace ringside::metrics
