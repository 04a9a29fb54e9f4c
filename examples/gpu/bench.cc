// SPDX-License-Identifier: Apache-2.0
#include "examples/gpu/bench.h"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include "examples/gpu/call_times.h"
#include "examples/gpu/check.h"

namespace example {
namespace {

struct Buffers {
  const Floats& input;
  const Floats& output;
};

using Call = void (*)(const Communicator&, const Buffers&, std::size_t count);

// How nccl-tests counts: `size` is the larger buffer, which holds a block of `count` floats for
// each rank where `per_rank` is true, and busbw is algbw times a factor of the number of ranks.
struct Collective {
  const char* name;
  Call call;
  bool per_rank;
  double (*bus_factor)(double ranks);
};

double all_but_one(double ranks) {
  return (ranks - 1) / ranks;
}
double there_and_back(double ranks) {
  return 2 * (ranks - 1) / ranks;
}
double one(double) {
  return 1;
}

void all_reduce(const Communicator& comm, const Buffers& buffers, std::size_t count) {
  check(ncclAllReduce(buffers.input.at(0), buffers.output.at(0), count, ncclFloat, ncclSum,
                      comm.handle(), comm.stream()),
        "ncclAllReduce");
}

void all_gather(const Communicator& comm, const Buffers& buffers, std::size_t count) {
  check(ncclAllGather(buffers.input.at(0), buffers.output.at(0), count, ncclFloat, comm.handle(),
                      comm.stream()),
        "ncclAllGather");
}

void reduce_scatter(const Communicator& comm, const Buffers& buffers, std::size_t count) {
  check(ncclReduceScatter(buffers.input.at(0), buffers.output.at(0), count, ncclFloat, ncclSum,
                          comm.handle(), comm.stream()),
        "ncclReduceScatter");
}

void broadcast(const Communicator& comm, const Buffers& buffers, std::size_t count) {
  check(ncclBroadcast(buffers.input.at(0), buffers.output.at(0), count, ncclFloat, 0, comm.handle(),
                      comm.stream()),
        "ncclBroadcast");
}

void all_to_all(const Communicator& comm, const Buffers& buffers, std::size_t count) {
  check(ncclGroupStart(), "ncclGroupStart");
  for (int peer = 0; peer < comm.ranks(); ++peer) {
    const std::size_t block = static_cast<std::size_t>(peer) * count;
    check(ncclSend(buffers.input.at(block), count, ncclFloat, peer, comm.handle(), comm.stream()),
          "ncclSend");
    check(ncclRecv(buffers.output.at(block), count, ncclFloat, peer, comm.handle(), comm.stream()),
          "ncclRecv");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

constexpr Collective kCollectives[]{
    {"AllReduce", all_reduce, false, there_and_back},
    {"AllGather", all_gather, true, all_but_one},
    {"ReduceScatter", reduce_scatter, true, all_but_one},
    {"Broadcast", broadcast, false, one},
    {"AlltoAll", all_to_all, true, all_but_one},
};

const Collective& find(const std::string& name) {
  for (const Collective& collective : kCollectives) {
    if (name == collective.name) return collective;
  }
  throw std::invalid_argument("unknown collective " + name);
}

// The faults that are made on purpose, before each measured call.
class Faults {
 public:
  Faults(const Options& options, int rank)
      : late_us_(rank == options.late_rank ? options.late_us : 0),
        stuck_at_(rank == options.stuck_rank ? options.stuck_at : -1) {}

  void before_call() {
    while (calls_ == stuck_at_) pause();
    ++calls_;
    if (late_us_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(late_us_));
  }

 private:
  const long late_us_;
  const int stuck_at_;
  int calls_ = 0;
};

// All that a measurement needs besides the call.
struct Bench {
  const Options& options;
  const Communicator& comm;
  Profiler& profiler;
  CallTimes times;
  Faults faults;
};

// Microseconds a call, on average over calls and ranks.
double measure(Bench& bench, const Collective& collective, const Buffers& buffers,
               std::size_t count) {
  using Clock = std::chrono::steady_clock;
  const Options& options = bench.options;
  const Communicator& comm = bench.comm;
  for (int i = 0; i < options.warmup; ++i) collective.call(comm, buffers, count);
  comm.average(0);  // all ranks are here
  if (!options.record_all) bench.profiler.start();
  bench.times.begin_series(static_cast<std::size_t>(options.iterations));
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < options.iterations; ++i) {
    bench.faults.before_call();
    bench.times.before_call();
    collective.call(comm, buffers, count);
    bench.times.after_call();
  }
  comm.synchronize();
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
  bench.times.end_series(collective.name, count * sizeof(float));
  if (!options.record_all) bench.profiler.stop();
  return comm.average(elapsed.count()) / options.iterations;
}

void verify(const Collective& collective, const Communicator& comm, const Floats& output) {
  const bool reduces = collective.call == all_reduce || collective.call == reduce_scatter;
  const float expected = reduces ? static_cast<float>(comm.ranks()) : 1.0F;
  if (output.read(0) != expected) {
    throw std::runtime_error(std::string(collective.name) + " gave a wrong result");
  }
}

void sweep(Bench& bench, const Collective& collective) {
  const Options& options = bench.options;
  const Communicator& comm = bench.comm;
  const auto ranks = static_cast<std::size_t>(comm.ranks());
  const std::size_t blocks = collective.per_rank ? ranks : 1;
  for (std::size_t size = options.min_bytes; size <= options.max_bytes; size *= options.factor) {
    const std::size_t count = size / sizeof(float) / blocks;
    if (count == 0) continue;
    const Floats input(count * blocks);
    const Floats output(count * blocks);
    const double time = measure(bench, collective, {input, output}, count);
    verify(collective, comm, output);
    if (comm.rank() != 0) continue;
    const std::size_t bytes = count * blocks * sizeof(float);
    const double algbw = static_cast<double>(bytes) / time / 1e3;
    std::printf("%-14s %12zu %12zu %12.1f %10.3f %10.3f\n", collective.name, bytes, count, time,
                algbw, algbw * collective.bus_factor(static_cast<double>(ranks)));
    std::fflush(stdout);
  }
}

}  // namespace

void run_bench(const Options& options, const Communicator& communicator, Profiler& profiler) {
  for (const std::string& name : options.collectives) find(name);
  if (communicator.rank() == 0) {
    std::printf("# %d ranks, %d iterations; sizes and bandwidths as nccl-tests counts them\n",
                communicator.ranks(), options.iterations);
    std::printf("#%-13s %12s %12s %12s %10s %10s\n", "collective", "size (B)", "count", "time (us)",
                "algbw GB/s", "busbw GB/s");
    std::fflush(stdout);
  }
  if (!options.record_all) {
    // The first operation that is recorded with kernel channels makes NCCL connect them, which can
    // take a second: that belongs to no measurement.
    profiler.start();
    communicator.average(0);
    profiler.stop();
  }
  const int rank = communicator.rank();
  const std::string times =
      options.times.empty() ? "" : options.times + "." + std::to_string(rank) + ".jsonl";
  Bench bench{options, communicator, profiler, CallTimes(times, communicator.stream()),
              Faults(options, rank)};
  for (const std::string& name : options.collectives) sweep(bench, find(name));
}

}  // namespace example
