// SPDX-License-Identifier: Apache-2.0
//
// Tests the replay of a job. Times are made by hand, so the truth is in each test.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "analyzer/metrics/rows/rows.h"
#include "analyzer/replay/critical_path.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/replay/waits.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::replay {
namespace {

constexpr std::int64_t kMs = 1'000'000;

void set_times(model::Operation& one, std::int64_t call_ns, std::int64_t start_ns,
               std::int64_t end_ns) {
  one.enqueue_start_ns = call_ns;
  one.enqueue_end_ns = call_ns + 1'000;
  one.start_ns = start_ns;
  one.end_ns = end_ns;
}

struct Made {
  explicit Made(TraceBuilder& builder)
      : traces(builder.traces()),
        matches(match::match_operations(traces)),
        alignment(align::Alignment::none(traces)),
        facts(traces, matches, alignment),
        replays(find_replays(facts)) {}

  RunReplay& run() {
    REQUIRE(replays.runs.size() == 1);
    return *replays.runs.front();
  }

  const model::Traces& traces;
  const match::Matches matches;
  const align::Alignment alignment;
  const facts::Facts facts;
  Replays replays;
};

// Four ranks compute for 10 ms and then reduce, which takes 1 ms from the last arrival on. The late
// one comes 5 ms late to one of `every` operations. Each rank's clock is so far ahead of another.
void add_job(TraceBuilder& builder, std::uint32_t late, int every, std::int64_t ahead_ns,
             const std::string& function = "AllReduce") {
  constexpr std::uint32_t kRanks = 4;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    builder.add_file(rank, "0x1", kRanks);
    std::int64_t at_ns = 100 * kMs + rank * ahead_ns;
    for (std::uint64_t seq = 0; seq < 60; ++seq) {
      const std::int64_t late_ns = seq % static_cast<std::uint64_t>(every) == 1 ? 5 * kMs : 0;
      const std::int64_t start_ns = at_ns + 10 * kMs + (rank == late ? late_ns : 0);
      const std::int64_t end_ns = at_ns + 11 * kMs + late_ns;
      model::Operation& one = builder.add(function, seq);
      set_times(one, start_ns - 1'000, start_ns, end_ns);
      one.root = function == "AllReduce" ? std::nullopt : std::optional<std::uint32_t>(late);
      at_ns = end_ns;
    }
  }
}

TEST_CASE("a late rank is named with what the job would take less, whatever the clocks say") {
  // 60 times 11 ms, and 15 or 30 times 5 ms more.
  for (const int every : {2, 4}) {
    for (const std::int64_t ahead_ns : {std::int64_t{0}, 1000 * kMs}) {
      for (const std::string function : {"AllReduce", "Broadcast"}) {
        INFO(every << ' ' << ahead_ns << ' ' << function);
        TraceBuilder builder;
        add_job(builder, 2, every, ahead_ns, function);
        Made made(builder);
        const auto& worst = made.run().slow().worst;
        REQUIRE(worst);
        CHECK(worst->ranks == std::vector<std::uint32_t>{2});
        const double lost_ms = 5 * 60.0 / every;
        // The first iteration begins when all have come.
        const double truth = lost_ms / (59 * 11 + 1 + lost_ms);
        CHECK(worst->cost.best == Approx(truth).epsilon(0.05));
        CHECK(worst->cost.least <= truth);
        CHECK(worst->cost.most >= truth);
        CHECK(made.run().ranks()[2].waited_ns == 0);
        if (function == "AllReduce") {
          CHECK(made.run().ranks()[0].waited_ns == 60 / every * 5 * kMs);
        }
      }
    }
  }
}

TEST_CASE("who starts late slows no job") {
  // Rank 1 starts a second after the others, and everybody is on time from then on.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 40; ++seq) {
      const auto end_ns = static_cast<std::int64_t>(1001 + seq * 11) * kMs;
      const std::int64_t start_ns = rank == 0 && seq == 0 ? kMs : end_ns - kMs;
      set_times(builder.add("AllReduce", seq), start_ns, start_ns, end_ns);
    }
  }
  Made made(builder);
  CHECK(made.run().is_possible());
  CHECK_FALSE(made.run().slow().worst);
  CHECK(made.run().waited_ns() == 0);
  CHECK(made.run().job().wall_ns == (39 * 11 + 1) * kMs);
}

// Ranks compute before each AllReduce, which takes 1 ms from the last arrival on:
// computing[seq][rank], in ms.
void add_short_job(TraceBuilder& builder, const std::vector<std::vector<std::int64_t>>& computing) {
  for (std::uint32_t rank = 0; rank < computing.front().size(); ++rank) {
    builder.add_file(rank, "0x1", static_cast<std::uint32_t>(computing.front().size()));
    std::int64_t at_ns = 100 * kMs;
    for (std::uint64_t seq = 0; seq < computing.size(); ++seq) {
      const auto& of_ranks = computing[seq];
      const std::int64_t start_ns = at_ns + of_ranks[rank] * kMs;
      at_ns += (*std::max_element(of_ranks.begin(), of_ranks.end()) + 1) * kMs;
      set_times(builder.add("AllReduce", seq), start_ns - 1'000, start_ns, at_ns);
    }
  }
}

TEST_CASE("a stall that takes most of a short job is named") {
  TraceBuilder builder;
  add_short_job(builder, {{10, 10, 11, 10}, {10, 11, 1990, 12}});
  Made made(builder);
  const auto& worst = made.run().slow().worst;
  REQUIRE(worst);
  CHECK(worst->ranks == std::vector<std::uint32_t>{2});
  // Of 1 ms and 1991 ms, 1990 ms become as long as the median of 10, 11 and 12 ms.
  CHECK(worst->cost.best == Approx(1979.0 / 1992).epsilon(0.01));
}

TEST_CASE("a rank waits no longer for a kernel than until its stream goes on") {
  // Rank 3 computes for 60 ms, the others for 2 ms. The network shows every second end only once
  // rank 3 has come to the next operation, too.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    builder.add_file(rank, "0x1", 4);
    for (std::uint64_t seq = 0; seq < 40; ++seq) {
      const auto come_ns = static_cast<std::int64_t>(100 + 61 * seq) * kMs;  // rank 3
      const std::int64_t start_ns = rank == 3 ? come_ns : come_ns - 58 * kMs;
      const std::int64_t seen_late_ns = rank != 3 && seq % 2 == 1 ? 61 * kMs : 0;
      set_times(builder.add(seq % 2 == 0 ? "AllReduce" : "AllGather", seq / 2), start_ns - 1'000,
                start_ns, come_ns + kMs + seen_late_ns);
    }
  }
  Made made(builder);
  const auto& worst = made.run().slow().worst;
  REQUIRE(worst);
  CHECK(worst->ranks == std::vector<std::uint32_t>{3});
  CHECK(worst->cost.best == Approx(58.0 / 61).epsilon(0.05));
  for (const RankFigures& rank : made.run().ranks()) {
    CHECK(rank.own_ns + rank.waited_ns <= made.run().job().wall_ns);
  }
}

TEST_CASE("where nothing says what is usual, it cannot be judged who is slow") {
  for (const auto& computing : std::vector<std::vector<std::vector<std::int64_t>>>{
           {{10, 15, 12, 13}, {14, 11, 16, 10}},  // noise of half the time
           {{10, 10}, {10, 1000}}}) {             // one of two is slow, or the other one is fast
    TraceBuilder builder;
    add_short_job(builder, computing);
    Made made(builder);
    CHECK_FALSE(made.run().slow().worst);
    CHECK(made.run().slow().unjudged_iterations == 2);
  }
}

TEST_CASE("what a rank has waited for another one is not waited for it") {
  // Ranks 0 and 1, 2 and 3 reduce in pairs, then 0 and 2, 1 and 3. Rank 0 comes 5 ms late: rank 1
  // waits for it, and comes late to rank 3, too.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::TraceFile& file = builder.add_file(rank, rank < 2 ? "0xa" : "0xb");
    file.contexts[1].rank = rank % 2;
    model::Context& across = file.contexts[2];
    across = file.contexts[1];
    across.comm = rank % 2 == 0 ? "0xc" : "0xd";
    across.rank = rank / 2;
    for (std::uint64_t seq = 0; seq < 20; ++seq) {
      const auto at_ns = static_cast<std::int64_t>(1 + seq * 20) * kMs;
      const std::int64_t late_ns = 5 * kMs;
      set_times(builder.add("AllReduce", seq), at_ns, at_ns + (rank == 0 ? late_ns : 0),
                at_ns + kMs + (rank < 2 ? late_ns : 0));
      const std::int64_t after_ns = at_ns + 2 * kMs;
      model::Operation& second = builder.add("AllGather", seq);
      set_times(second, after_ns, after_ns + (rank < 2 ? late_ns : 0), after_ns + kMs + late_ns);
      second.context = 2;
      --file.contexts[1].operations;
      ++across.operations;
    }
  }
  Made made(builder);
  const Job& job = made.run().job();
  std::vector<std::uint32_t> columns;
  for (std::uint32_t i = 0; i < job.kernels.size(); ++i) {
    columns.push_back((i - job.ranks[job.kernels[i].rank].first_kernel) / 2);
  }
  std::vector<std::int64_t> waited_ns(4);  // by file
  for_each_waited_for(job, columns, [&](const WaitedFor& one) {
    waited_ns[job.ranks[one.rank].file] += one.waited_ns;
  });
  // The first operation of a rank counts nowhere.
  CHECK(waited_ns[0] == (19 + 20) * 5 * kMs);
  CHECK(waited_ns[1] <= 5 * kMs);
  CHECK(waited_ns[2] + waited_ns[3] == 0);
}

TEST_CASE("a sender that is late is named, and a receiver that waits for it is not") {
  // Rank 0 computes 10 ms before it sends, rank 1 receives what takes 1 ms and computes 2 ms. An
  // AllReduce of both closes each iteration.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 40; ++seq) {
      const auto at_ns = static_cast<std::int64_t>(1 + seq * 20) * kMs;
      const std::int64_t come_ns = at_ns + (rank == 0 ? 10 * kMs : 0);
      set_times(builder.add_transfer(rank == 0 ? "Send" : "Recv", 1 - rank), come_ns, come_ns,
                at_ns + 11 * kMs);
      const std::int64_t reduce_ns = at_ns + (rank == 0 ? 11 : 13) * kMs;
      set_times(builder.add("AllReduce", seq), reduce_ns, reduce_ns, at_ns + 14 * kMs);
    }
  }
  Made made(builder);
  CHECK(made.run().is_possible());
  CHECK(made.run().what_if().fidelity() == Approx(1).epsilon(0.01));
  // Of 40 receives the first one is the start of the job.
  CHECK(made.run().ranks()[1].waited_ns == 39 * 10 * kMs);
  CHECK(made.run().ranks()[0].waited_ns == 40 * 2 * kMs);
}

TEST_CASE("collectives of a group are one kernel, which waits once") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 40; ++seq) {
      const auto at_ns = static_cast<std::int64_t>(1 + seq / 2 * 20) * kMs;
      const std::int64_t start_ns = at_ns + (rank == 1 ? 5 * kMs : 0);
      model::Operation& one = builder.add("AllReduce", seq);
      set_times(one, start_ns, start_ns, at_ns + 6 * kMs);
      one.group = seq / 2 + 1;
    }
  }
  Made made(builder);
  CHECK(made.run().job().kernels.size() == 2 * 20);
  CHECK(made.run().job().transfers.size() == 40);
  CHECK(made.run().ranks()[0].waited_ns == 19 * 5 * kMs);
}

std::uint32_t operation_of(const Job& job, const Transfer& transfer) {
  return job.kernels[job.kernels_of(transfer).front()].operation;
}

std::int64_t spent(const CriticalPath& path, Spent kind) {
  return path.spent_ns[static_cast<std::size_t>(kind)];
}

TEST_CASE("what the GPU computes between collectives is on the path after the call") {
  // As in PyTorch: all calls are made at once, and between the kernels of NCCL, each of 1 ms, the
  // GPU computes for 9 ms.
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 40; ++seq) {
      const auto begin_ns = static_cast<std::int64_t>(1 + seq * 10) * kMs;
      set_times(builder.add("AllReduce", seq), kMs + static_cast<std::int64_t>(seq), begin_ns,
                begin_ns + kMs);
    }
  }
  Made made(builder);
  const CriticalPath path = find_critical_path(made.run());
  CHECK(path.length_ns == (39 * 10 + 1) * kMs);
  CHECK(spent(path, Spent::kTransfer) == 40 * kMs);
  CHECK(spent(path, Spent::kAfterCall) == 39 * 9 * kMs);
  CHECK(spent(path, Spent::kBeforeCall) == 0);
}

TEST_CASE("the path goes through the rank that the others wait for") {
  TraceBuilder builder;
  add_job(builder, 2, 2, 0);
  Made made(builder);
  const CriticalPath path = find_critical_path(made.run());
  CHECK(path.length_ns == 1 * kMs + 59 * 11 * kMs + 30 * 5 * kMs);
  CHECK(spent(path, Spent::kTransfer) == 60 * kMs);
  CHECK(path.of_rank_ns[2][static_cast<std::size_t>(Spent::kBeforeCall)] >= 30 * 14 * kMs);
}

TEST_CASE("the calls of one kernel make the same job in whatever order they are found") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (std::uint64_t seq = 0; seq < 40; ++seq) {
      model::Operation& one = builder.add("AllReduce", seq);
      const auto at_ns = static_cast<std::int64_t>(1 + seq / 2 * 20) * kMs;
      set_times(one, at_ns, at_ns, at_ns + kMs);
      one.group = seq / 2 + 1;
    }
  }
  Made made(builder);
  std::vector<std::uint32_t> backwards(made.matches.operations.size());
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  PartsFinder finder(made.facts);
  made.facts.ranks_of_each(
      std::span<const std::uint32_t>(backwards),
      [&](std::size_t, const facts::SeenOperation& seen) { finder.add(0, seen); });
  const std::vector<Job> jobs = make_jobs(finder.take(), made.traces, made.matches);
  REQUIRE(jobs.size() == 1);
  const std::vector<Transfer>& expected = made.run().job().transfers;
  REQUIRE(jobs[0].transfers.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(operation_of(jobs[0], jobs[0].transfers[i]) ==
          operation_of(made.run().job(), expected[i]));
  }
  CHECK(jobs[0].links == made.run().job().links);
}

TEST_CASE("messages to another rank and to itself are of two kinds") {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    builder.add_file(rank);
    for (const std::uint32_t peer : {rank, 1 - rank}) {
      set_times(builder.add_transfer("Send", peer), kMs, kMs, 2 * kMs);
      set_times(builder.add_transfer("Recv", peer), kMs, kMs, 2 * kMs);
    }
  }
  Made made(builder);
  std::vector<std::string> functions;
  for (const Kernel& kernel : made.run().job().kernels) {
    functions.emplace_back(
        metrics::function_of(made.traces, made.matches.operations[kernel.operation]));
  }
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  CHECK(functions == std::vector<std::string>{"SendRecv", "SendRecv to self"});
}

}  // namespace
}  // namespace ringside::replay
