// SPDX-License-Identifier: Apache-2.0
//
// Steps that no trace tells, between operations that bound a clock from one side each.
#include "analyzer/align/points/hidden_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "test/unit/analyzer/align/hosts.h"
#include "test/unit/catch.h"

namespace ringside::align {
namespace {

constexpr std::int64_t kApart_ns = 10'000'000'000;
constexpr int kOperations = 20;
constexpr std::int64_t kStep_ns = 3'000'000;  // 300 ppm from one operation to the next

// Broadcasts and Reduces of two hosts with right clocks, but that node1's steps ahead between two
// of them.
model::Traces stepping_job(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Hosts job(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    job.join(rank, 1, "0x1", rank, 2);
  }
  const std::int64_t stepped_at = pick(4, kOperations - 4);
  for (std::int64_t i = 0; i < kOperations; ++i) {
    const bool is_broadcast = pick(0, 1) == 1;
    const std::int64_t root = pick(0, 1);
    const std::int64_t begin_ns = (i + 1) * kApart_ns;
    const std::int64_t starts_ns[] = {begin_ns + pick(0, 100'000), begin_ns + pick(0, 100'000)};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      // A Broadcast's leaf waits for the root, and a Reduce's root for the leaf.
      const bool waits = is_broadcast == (root != rank);
      const std::int64_t data_ns = waits ? std::max(starts_ns[0], starts_ns[1]) : starts_ns[rank];
      const std::int64_t ahead_ns = rank == 1 && i >= stepped_at ? kStep_ns : 0;
      model::Operation operation =
          job.call(rank, 1, is_broadcast ? "Broadcast" : "Reduce", starts_ns[rank] + ahead_ns,
                   data_ns + pick(20'000, 90'000) + ahead_ns);
      operation.seq = static_cast<std::uint64_t>(i);
      operation.root = static_cast<std::uint32_t>(root);
      operation.bytes = 65'536;
      job.add(rank, operation);
    }
  }
  return std::move(job.traces);
}

// By how much the true offset of node1 against node0 is beyond what is printed, over the run.
std::int64_t most_beyond_ns(const model::Traces& traces, const Alignment& alignment) {
  const HostOffset& host = alignment.hosts()[alignment.hosts()[0].is_reference ? 1 : 0];
  const std::uint32_t file = alignment.hosts()[0].is_reference ? 1 : 0;
  std::int64_t beyond_ns = 0;
  for (std::size_t i = 0; i < traces.files[0].operations.size(); ++i) {
    const std::int64_t own_ns = *model::Operation(traces.files[file].operations[i]).start_ns;
    const std::int64_t ahead_ns =
        (*model::Operation(traces.files[1].operations[i]).start_ns) % kApart_ns > kStep_ns - 1
            ? kStep_ns
            : 0;
    const std::int64_t true_ns = file == 1 ? -ahead_ns : ahead_ns;
    const std::int64_t shown_ns =
        alignment.to_common_ns(file, own_ns) - alignment.to_host_ns(file, own_ns);
    beyond_ns = std::max(beyond_ns, std::abs(shown_ns - true_ns) - host.most_uncertainty_ns);
  }
  return beyond_ns;
}

}  // namespace

TEST_CASE("where a step explains as much as fast clocks do, offsets hold for both") {
  std::mt19937_64 random(12);
  int doubtful = 0;
  for (int job = 0; job < 60; ++job) {
    const model::Traces traces = stepping_job(random);
    const auto alignment = Alignment::estimate(traces);
    std::string notes;
    for (const std::string& note : alignment.notes()) {
      notes += note + "\n";
    }
    INFO("job " << job << ": " << notes);
    if (notes.find("may have stepped instead") == std::string::npos) {
      continue;
    }
    ++doubtful;
    CHECK(notes.find("clocks wander by up to") != std::string::npos);
    CHECK(most_beyond_ns(traces, alignment) <= 0);
  }
  CHECK(doubtful >= 10);
}

}  // namespace ringside::align
