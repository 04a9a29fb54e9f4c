// SPDX-License-Identifier: Apache-2.0
//
// Calls that a rank makes without waiting, so that it can leave one out and go on: on the GPU the
// later ones then wait for ever, as in a training job with this defect.
#include <chrono>
#include <thread>

#include "collectives.h"
#include "scenarios.h"
#include "status.h"

namespace ranks {
namespace {

constexpr std::size_t kCalls = 12;
constexpr std::size_t kLeastCount = 256;
constexpr std::size_t kGatheredCount = 512;  // more than any of the others

// Long enough for the drain thread to write what was called.
constexpr std::chrono::milliseconds kPatience(1500);

}  // namespace

void run_burst(Rank& rank) {
  const Group& world = rank.world();
  const auto size = static_cast<std::size_t>(world.size);
  const Buffer input(kGatheredCount);
  const Buffer reduced(kLeastCount + kCalls);
  const Buffer gathered(kGatheredCount * size);
  for (std::size_t i = 0; i < kCalls; ++i) {
    rank.begin_collective();
    if (rank.leaves_out()) continue;
    const std::size_t count = kLeastCount + i;
    const CallLog::Entry entry(rank.log(), world, {"AllReduce", count});
    check(ncclAllReduce(input.data(), reduced.data(), count, ncclFloat, ncclSum, world.communicator,
                        world.stream),
          "ncclAllReduce");
  }
  rank.begin_collective();
  {
    const CallLog::Entry entry(rank.log(), world, {"AllGather", kGatheredCount});
    check(ncclAllGather(input.data(), gathered.data(), kGatheredCount, ncclFloat,
                        world.communicator, world.stream),
          "ncclAllGather");
  }
  if (rank.options().leave_out.rank == kNobody) return rank.wait(world);
  rank.board().barrier();
  std::this_thread::sleep_for(kPatience);
  rank.board().barrier();
}

}  // namespace ranks
