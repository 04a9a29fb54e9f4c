// SPDX-License-Identifier: Apache-2.0
//
// One collective over a range of sizes, timed and reported as nccl-tests does: sizes are those of
// the larger buffer, times are averages over the calls and ranks, and the bus bandwidth is what
// each rank's link carries.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "collectives.h"
#include "scenarios.h"
#include "status.h"

namespace ranks {
namespace {

struct Measured {
  std::string name;
  bool divides;                    // the larger buffer holds a block per rank
  double (*bus_factor)(double n);  // bus bandwidth relative to size / time
};

double one(double) {
  return 1;
}
double all_but_one(double n) {
  return (n - 1) / n;
}
double there_and_back(double n) {
  return 2 * (n - 1) / n;
}

const std::vector<Measured>& known() {
  static const std::vector<Measured> all{
      {"all_reduce", false, there_and_back},
      {"all_gather", true, all_but_one},
      {"reduce_scatter", true, all_but_one},
      {"broadcast", false, one},
      {"reduce", false, one},
      {"all_to_all", true, all_but_one},
      {"send_receive", false, one},
  };
  return all;
}

const Measured& find(const std::string& name) {
  for (const Measured& measured : known()) {
    if (measured.name == name) return measured;
  }
  throw std::invalid_argument("unknown collective " + name);
}

void call(Rank& rank, const std::string& name, const Buffer& input, const Buffer& output,
          std::size_t count) {
  const Group& world = rank.world();
  const ncclComm_t communicator = world.communicator;
  const cudaStream_t stream = world.stream;
  constexpr int kRoot = 0;
  rank.begin_collective();
  if (name == "all_reduce") {
    const std::size_t asked = rank.all_reduce_count(count);
    const CallLog::Entry entry(rank.log(), world, {"AllReduce", asked});
    check(
        ncclAllReduce(input.data(), output.data(), asked, ncclFloat, ncclSum, communicator, stream),
        "ncclAllReduce");
  } else if (name == "all_gather") {
    const CallLog::Entry entry(rank.log(), world, {"AllGather", count});
    check(ncclAllGather(input.data(), output.data(), count, ncclFloat, communicator, stream),
          "ncclAllGather");
  } else if (name == "reduce_scatter") {
    const CallLog::Entry entry(rank.log(), world, {"ReduceScatter", count});
    check(ncclReduceScatter(input.data(), output.data(), count, ncclFloat, ncclSum, communicator,
                            stream),
          "ncclReduceScatter");
  } else if (name == "broadcast") {
    const CallLog::Entry entry(rank.log(), world,
                               {"Broadcast", count, ncclFloat, Partner::kRoot, kRoot});
    check(ncclBroadcast(input.data(), output.data(), count, ncclFloat, kRoot, communicator, stream),
          "ncclBroadcast");
  } else if (name == "reduce") {
    const CallLog::Entry entry(rank.log(), world,
                               {"Reduce", count, ncclFloat, Partner::kRoot, kRoot});
    check(ncclReduce(input.data(), output.data(), count, ncclFloat, ncclSum, kRoot, communicator,
                     stream),
          "ncclReduce");
  } else {
    // A transfer to every peer, or only to the next one.
    const bool all = name == "all_to_all";
    check(ncclGroupStart(), "ncclGroupStart");
    for (int distance = all ? 0 : 1; distance < (all ? world.size : 2); ++distance) {
      const int to = (world.rank + distance) % world.size;
      const int from = (world.rank + world.size - distance) % world.size;
      const std::size_t send_block = all ? static_cast<std::size_t>(to) * count : 0;
      const std::size_t receive_block = all ? static_cast<std::size_t>(from) * count : 0;
      const CallLog::Entry send(rank.log(), world, {"Send", count, ncclFloat, Partner::kPeer, to});
      const CallLog::Entry receive(rank.log(), world,
                                   {"Recv", count, ncclFloat, Partner::kPeer, from});
      check(ncclSend(input.at(send_block), count, ncclFloat, to, communicator, stream), "ncclSend");
      check(ncclRecv(output.at(receive_block), count, ncclFloat, from, communicator, stream),
            "ncclRecv");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
}

void verify(const Rank& rank, const std::string& name, const Buffer& output, std::size_t count) {
  const Group& world = rank.world();
  if (!rank.verifies()) return;
  const auto of_rank = [](int index) -> Values {
    return [index](std::size_t position) { return contribution(index, position); };
  };
  if (name == "all_reduce" || name == "reduce_scatter") {
    output.expect(name, 0, count, reduced(ncclSum, world.size));
  } else if (name == "reduce") {
    if (world.rank == 0) output.expect(name, 0, count, reduced(ncclSum, world.size));
  } else if (name == "broadcast") {
    output.expect(name, 0, count, of_rank(0));
  } else if (name == "send_receive") {
    output.expect(name, 0, count, of_rank((world.rank + world.size - 1) % world.size));
  } else {
    for (int i = 0; i < world.size; ++i) {
      output.expect(name, static_cast<std::size_t>(i) * count, count, of_rank(i));
    }
  }
}

// The average over this rank's calls.
double microseconds_per_call(Rank& rank, const std::string& name, const Buffer& input,
                             const Buffer& output, std::size_t count) {
  const Options& options = rank.options();
  for (int i = 0; i < options.warmup; ++i) call(rank, name, input, output, count);
  rank.wait(rank.world());
  rank.board().barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < options.iterations; ++i) call(rank, name, input, output, count);
  rank.wait(rank.world());
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - begin;
  return elapsed.count() / options.iterations;
}

}  // namespace

void run_sweep(Rank& rank) {
  const Options& options = rank.options();
  const Measured& measured = find(options.collective);
  const auto size = static_cast<std::size_t>(rank.world().size);
  const bool prints = rank.index() == 0;
  if (prints) {
    std::printf("# %s, %zu ranks, %d iterations, out of place\n", measured.name.c_str(), size,
                options.iterations);
    std::printf("#%11s %12s %8s %6s %10s %8s %8s\n", "size (B)", "count", "type", "redop",
                "time (us)", "algbw", "busbw");
  }
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor) {
    const std::size_t blocks = measured.divides ? size : 1;
    const std::size_t count = bytes / sizeof(float) / blocks;
    if (count == 0) continue;
    Buffer input(count * blocks);
    Buffer output(count * blocks);
    // Every block has the same content, so that each block's origin is what a check verifies.
    for (std::size_t i = 0; i < blocks; ++i) {
      input.fill(i * count, count,
                 [&](std::size_t position) { return contribution(rank.world().rank, position); });
    }
    rank.board().rank(rank.index()).measurement =
        microseconds_per_call(rank, measured.name, input, output, count);
    verify(rank, measured.name, output, count);
    rank.board().barrier();
    if (prints) {
      const double time = rank.board().average_measurement();
      const std::size_t actual_bytes = count * blocks * sizeof(float);
      const double gigabytes_per_second = static_cast<double>(actual_bytes) / time / 1e3;
      std::printf("%12zu %12zu %8s %6s %10.2f %8.3f %8.3f\n", actual_bytes, count, "float", "sum",
                  time, gigabytes_per_second,
                  gigabytes_per_second * measured.bus_factor(static_cast<double>(size)));
      std::fflush(stdout);
    }
    rank.board().barrier();
  }
}

}  // namespace ranks
