// SPDX-License-Identifier: Apache-2.0
//
// Matches, and all figures and findings on them, do not depend on the number of threads.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/facts.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/parallel.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/stragglers_report.h"
#include "analyzer/report/summary/summary.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside {
namespace {

constexpr std::uint32_t kRanks = 6;
constexpr std::uint32_t kIterations = 2500;

class ChosenThreads {
 public:
  explicit ChosenThreads(std::size_t threads) { chosen_threads = threads; }
  ChosenThreads(const ChosenThreads&) = delete;
  ChosenThreads& operator=(const ChosenThreads&) = delete;
  ~ChosenThreads() { chosen_threads = 0; }
};

// Every kind of call, each with its iteration in `channels`; in whatever order, as lines of a trace
// are. They are so many that they are matched in several ranges. In `is_late` jobs one rank has
// calls only from the middle on.
TraceBuilder make_job(bool is_late) {
  std::mt19937_64 random(20261123);
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    file.process.nccl_version = "2.27.3";
    const std::uint32_t first = is_late && rank == 1 ? kIterations / 2 : 0;
    for (std::uint32_t i = first; i < kIterations; ++i) {
      builder.add("AllReduce", i).channels = i;
      builder.add("AllReduce", i).channels = i;  // as in a graph
      builder.add("AllGather", i).channels = i;
      builder.add("Broadcast", std::nullopt).channels = i;
      const std::uint32_t next = (rank + 1) % kRanks;
      const std::uint32_t previous = (rank + kRanks - 1) % kRanks;
      for (auto* const one :
           {&builder.add_transfer("Send", next), &builder.add_transfer("Recv", previous)}) {
        one->channels = i;
        if (i % 2 == 0) {
          one->group = i + 1;
        }
      }
    }
    if (is_late) {
      file.windows[1].start_ns = rank == 1 ? 1000 : 0;
    }
    auto& operations = builder.operations(rank);
    for (std::size_t i = 0; i + 10 < operations.size(); i += 10) {
      std::swap(operations[i], operations[i + random() % 10]);
    }
  }
  return builder;
}

std::string text_of(const match::Matches& matches) {
  std::string text;
  for (const match::MatchedOperation& operation : matches.operations) {
    for (const std::uint64_t number :
         {std::uint64_t{operation.communicator}, static_cast<std::uint64_t>(operation.way),
          static_cast<std::uint64_t>(operation.pattern), std::uint64_t{operation.is_aligned},
          std::uint64_t{operation.func}, operation.number, std::uint64_t{operation.occurrence},
          std::uint64_t{operation.source}, std::uint64_t{operation.destination}}) {
      text += std::to_string(number) + ' ';
    }
    for (const match::Part& part : match::parts_of(matches, operation)) {
      text += std::to_string(part.member) + ',' + std::to_string(part.file) + ',' +
              std::to_string(part.operation) + ' ';
    }
    text += '\n';
  }
  return text;
}

std::string analyse(const model::Traces& traces) {
  const auto alignment = align::Alignment::estimate(traces);
  const match::Matches matches = match::match_operations(traces, align::clock_of(alignment));
  const facts::Facts facts(traces, matches, alignment);
  return text_of(matches) + report::summary_as_json(report::make_summary(facts, {}, {}));
}

TEST_CASE("matches and figures are the same on one thread and on several") {
  for (const bool is_late : {false, true}) {
    TraceBuilder builder = make_job(is_late);
    std::string on_one;
    for (const std::size_t threads : {1U, 8U}) {
      const ChosenThreads chosen(threads);
      const std::string text = analyse(builder.traces());
      on_one = threads == 1 ? text : on_one;
      CHECK(text.size() > 100'000);
      CHECK((text == on_one));
    }
  }
}

// Ranks of several hosts that come at random moments, the third mostly last. A second communicator
// lets them pass on what they waited.
TraceBuilder make_hosts() {
  constexpr std::int64_t kPause_ns = 100'000;
  std::mt19937_64 random(20261124);
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    model::TraceFile& file = builder.add_file(rank, "0x1", kRanks);
    file.process.host = file.process.boot_id = "host" + std::to_string(rank / 2);
    model::Context& pair = file.contexts[2];
    pair = file.contexts[1];
    pair.comm = "0x2" + std::to_string(rank / 2);
    pair.rank = rank % 2;
    pair.nranks = 2;
    pair.operations = 0;
    for (std::uint32_t i = 0; i < 2 * kIterations; ++i) {
      const bool is_of_pair = i % 5 == 4;
      model::Operation& one =
          builder.add(is_of_pair ? "AllGather" : "AllReduce", is_of_pair ? i / 5 : i - i / 5);
      if (is_of_pair) {
        one.context = 2;
        --file.contexts[1].operations;
        ++pair.operations;
      }
      const std::int64_t begin_ns = kPause_ns * (i + 1);
      one.enqueue_start_ns = one.start_ns =
          begin_ns + static_cast<std::int64_t>(random() % 20'000) + (rank == 2 ? 20'000 : 0);
      one.end_ns = begin_ns + 50'000 + static_cast<std::int64_t>(random() % 1'000);
    }
  }
  return builder;
}

TEST_CASE("clocks and stragglers are the same on one thread and on several") {
  TraceBuilder builder = make_hosts();
  std::string on_one;
  for (const std::size_t threads : {1U, 8U}) {
    const ChosenThreads chosen(threads);
    const model::Traces& traces = builder.traces();
    const auto alignment = align::Alignment::estimate(traces);
    REQUIRE(alignment.is_aligned());
    CHECK(alignment.points() > 3000);
    const match::Matches matches = match::match_operations(traces, align::clock_of(alignment));
    const facts::Facts facts(traces, matches, alignment);
    const auto replays = replay::find_replays(facts);
    CHECK(replays.all_coverage().seen > 0);
    const std::string text = report::render(report::stragglers_document(replays), "json") +
                             report::render_csv(report::alignment_table(alignment));
    on_one = threads == 1 ? text : on_one;
    CHECK(text == on_one);
  }
}

TEST_CASE("calls that are matched in several ranges are matched with each other") {
  TraceBuilder builder = make_job(false);
  const match::Matches matches = match::match_operations(builder.traces());
  // In each two iterations, one ring is a group and the other is six pairs.
  CHECK(matches.operations.size() == kIterations * 4 + kIterations / 2 * (1 + kRanks));
  for (const match::MatchedOperation& operation : matches.operations) {
    const auto parts = match::parts_of(matches, operation);
    REQUIRE(parts.size() == (operation.way == match::Way::kPair    ? 2
                             : operation.way == match::Way::kGroup ? 2 * kRanks
                                                                   : kRanks));
    for (const match::Part& part : parts) {
      REQUIRE(match::operation_of(builder.traces(), part).channels ==
              match::operation_of(builder.traces(), parts.front()).channels);
    }
  }
}

}  // namespace
}  // namespace ringside
