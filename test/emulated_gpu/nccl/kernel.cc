// SPDX-License-Identifier: Apache-2.0
//
// Entry of the emulated NCCL kernels: one task per block, each going through its channel's batches.
#include "cuda/kernel.h"

#include <chrono>

#include "cuda/log.h"
#include "kernels.h"
#include "work_batches.h"

namespace emugpu::nccl {
namespace {

constexpr std::string_view kKernelPrefix = "ncclDevKernel_";

// The device's global timer shows nanoseconds of the real-time clock.
std::uint64_t global_timer() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Tells NCCL's profiler when each work item of the channel began and ended: it polls for the
// counters, then reads the time stamps.
class WorkCounter {
 public:
  explicit WorkCounter(Block& block) : block_(block), value_(block.channel.work_counter) {}

  void batch_started(const Batch& batch) const {
    stamp(batch, block_.communicator.work_started[block_.channel_index]);
  }

  void batch_completed(const Batch& batch) {
    stamp(batch, block_.communicator.work_completed[block_.channel_index]);
    value_ += batch.count();
    block_.channel.work_counter = value_;
  }

 private:
  void stamp(const Batch& batch, ProfilerCounters& counters) const {
    for (std::size_t i = 0; i < batch.count(); ++i) {
      if (!batch.profiled(i)) continue;
      const std::uint64_t number = value_ + 1 + i;
      ProfilerEntry& entry = counters.entries[number % kProfilerEntries];
      entry.timestamp = global_timer();
      __atomic_store_n(&entry.counter, number, __ATOMIC_RELEASE);
    }
  }

  Block& block_;
  std::uint64_t value_;
};

template <class Work>
std::vector<Work> works_of(const Batch& batch) {
  std::vector<Work> works;
  for (std::size_t i = 0; i < batch.count(); ++i) works.push_back(batch.work<Work>(i));
  return works;
}

Task run_batch(Block& block, const Batch& batch) {
  const Function& function = function_of(batch.function_id);
  switch (batch.type) {
    case WorkType::kPointToPoint:
      co_await run_point_to_point(block, works_of<PointToPointWork>(batch));
      break;
    case WorkType::kBroadcast:
      co_await run_broadcasts(block, function, works_of<BroadcastWork>(batch));
      break;
    case WorkType::kCollective:
    case WorkType::kRegisteredCollective:
      for (std::size_t i = 0; i < batch.count(); ++i) {
        co_await run_collective(block, function, batch.work<CollectiveWork>(i));
      }
      break;
  }
}

int channel_of_block(std::uint64_t channel_mask, unsigned block) {
  for (int channel = 0; channel < kMaxChannels; ++channel) {
    if ((channel_mask >> channel & 1) == 0) continue;
    if (block-- == 0) return channel;
  }
  fatal("a kernel has more blocks than channels");
}

Task run_block(Scheduler& scheduler, const KernelArguments& arguments, unsigned index) {
  KernelCommunicator& communicator = *arguments.communicator;
  const int channel = channel_of_block(arguments.channel_mask, index);
  Block block{scheduler, communicator, channel_of(communicator, channel), channel};
  WorkCounter counter(block);
  std::optional<std::size_t> next = index;
  while (next) {
    const Batch batch = read_batch(arguments, *next);
    counter.batch_started(batch);
    co_await run_batch(block, batch);
    counter.batch_completed(batch);
    next = batch.next;
  }
}

void execute(const KernelLaunch& launch) {
  if (!launch.name.starts_with(kKernelPrefix)) {
    fatal("kernel %s is not emulated", launch.name.c_str());
  }
  const auto& arguments = *static_cast<const KernelArguments*>(launch.arguments);
  Scheduler scheduler(arguments.communicator->abort_flag);
  std::vector<Task> blocks;
  for (unsigned i = 0; i < launch.grid; ++i) blocks.push_back(run_block(scheduler, arguments, i));
  scheduler.run(std::move(blocks));
}

// Being linked into libnccl.so.2 is all it takes for the emulation to serve its kernels.
[[maybe_unused]] const bool kInstalled = [] {
  set_kernel_executor(execute);
  return true;
}();

}  // namespace
}  // namespace emugpu::nccl
