// SPDX-License-Identifier: Apache-2.0
//
// All collectives, at several sizes and in several types, then communicators split from the world.
#include <thread>

#include "collectives.h"
#include "scenarios.h"
#include "status.h"

namespace ranks {
namespace {

void sizes(Rank& rank) {
  for (const std::size_t count : {1, 256, 16384, 262144, 2097152}) {
    all_reduce(rank, rank.world(), count);
  }
}

void types_and_operations(Rank& rank) {
  constexpr std::size_t kCount = 5000;
  constexpr ncclDataType_t kTypes[]{ncclInt8,    ncclUint8,   ncclInt32,   ncclUint32,
                                    ncclInt64,   ncclUint64,  ncclFloat16, ncclFloat32,
                                    ncclFloat64, ncclBfloat16};
  for (const ncclDataType_t type : kTypes) {
    all_reduce(rank, rank.world(), kCount, type, ncclSum);
    all_reduce(rank, rank.world(), kCount, type, ncclMax, Placement::kInPlace);
  }
  for (const ncclDataType_t type : {ncclInt32, ncclUint64, ncclFloat16, ncclFloat32}) {
    all_reduce(rank, rank.world(), kCount, type, ncclMin);
    // A single rank's average is a kernel of its own kind, which is not emulated.
    if (rank.world().size > 1) all_reduce(rank, rank.world(), kCount, type, ncclAvg);
  }
  all_reduce(rank, rank.world(), kCount, ncclFloat32, ncclProd);
}

void collectives(Rank& rank) {
  const Group& world = rank.world();
  for (const Placement placement : {Placement::kOutOfPlace, Placement::kInPlace}) {
    reduce_scatter(rank, world, 65536, placement);
    all_gather(rank, world, 65536, placement);
    broadcast(rank, world, 100000, 1 % world.size, placement);
  }
  reduce(rank, world, 70000, 0);
}

void groups(Rank& rank) {
  const Group& world = rank.world();
  all_to_all(rank, world, 16384);
  all_to_all(rank, world, 300);
  ring_shift(rank, world, 262144);
  grouped_all_reduces(rank, world, 65536);
  grouped_mixture(rank, world, 20000);
  all_reduce_burst(rank, world, 16384, 10);
}

// Tensor-parallel pairs, and data-parallel ranks across the pairs.
void split_communicators(Rank& rank) {
  const Group pair = rank.split(rank.world(), rank.index() / 2, "tp");
  const Group across = rank.split(rank.world(), rank.index() % 2, "dp");
  all_reduce(rank, pair, 32768);
  all_gather(rank, pair, 4096);
  ring_shift(rank, pair, 9000);
  all_reduce(rank, across, 32768);
  reduce_scatter(rank, across, 4096);
  rank.destroy(pair);
  rank.destroy(across);
  all_reduce(rank, rank.world(), 6000);
}

}  // namespace

void run_mix(Rank& rank) {
  sizes(rank);
  types_and_operations(rank);
  collectives(rank);
  groups(rank);
  split_communicators(rank);
}

void run_broadcasts(Rank& rank) {
  for (const std::size_t count : {1, 5000, 100000}) grouped_broadcasts(rank, rank.world(), count);
  all_reduce(rank, rank.world(), 6000);
}

void run_two_threads(Rank& rank) {
  constexpr int kCalls = 20;
  const Group second = rank.split(rank.world(), 0, "second");
  std::exception_ptr failure;
  std::thread other([&] {
    try {
      check(cudaSetDevice(rank.options().device_of(rank.index())), "cudaSetDevice");
      for (int i = 0; i < kCalls; ++i) all_reduce(rank, second, 8192);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    for (int i = 0; i < kCalls; ++i) all_reduce(rank, rank.world(), 4096);
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (failure) std::rethrow_exception(failure);
  rank.destroy(second);
}

}  // namespace ranks
