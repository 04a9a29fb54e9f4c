// SPDX-License-Identifier: Apache-2.0
//
// The communication of a training loop: parameters are gathered, activations passed on, gradients
// reduced bucket by bucket while "computing", which is sleeping here, and then scattered.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "collectives.h"
#include "scenarios.h"
#include "status.h"

namespace ranks {
namespace {

void compute(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void reduce_gradients(Rank& rank) {
  const Group& world = rank.world();
  constexpr std::size_t kBucketCounts[]{262144, 262144, 65536};
  struct Bucket {
    explicit Bucket(std::size_t elements) : count(elements), gradients(elements) {}
    std::size_t count;
    Buffer gradients;
  };
  std::vector<std::unique_ptr<Bucket>> buckets;
  for (const std::size_t count : kBucketCounts) {
    compute(1);
    Bucket& bucket = *buckets.emplace_back(std::make_unique<Bucket>(count));
    bucket.gradients.fill(0, count,
                          [&](std::size_t position) { return contribution(world.rank, position); });
    rank.begin_collective();
    const std::size_t asked = rank.all_reduce_count(count);
    const CallLog::Entry entry(rank.log(), world, {"AllReduce", asked});
    check(ncclAllReduce(bucket.gradients.data(), bucket.gradients.data(), asked, ncclFloat, ncclSum,
                        world.communicator, world.stream),
          "ncclAllReduce");
  }
  rank.wait(world);
  if (!rank.verifies()) return;
  for (const auto& bucket : buckets) {
    bucket->gradients.expect("gradients", 0, bucket->count, reduced(ncclSum, world.size));
  }
}

}  // namespace

void run_train(Rank& rank) {
  all_gather(rank, rank.world(), 32768, Placement::kInPlace);
  compute(2);
  ring_shift(rank, rank.world(), 16384);
  reduce_gradients(rank);
  reduce_scatter(rank, rank.world(), 32768, Placement::kInPlace);
}

}  // namespace ranks
