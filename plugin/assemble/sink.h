// SPDX-License-Identifier: Apache-2.0
//
// Where finished events go. Called by the drain thread only.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SINK_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SINK_H

#include <cstdint>
#include <string_view>

#include "plugin/assemble/gpu_clock.h"
#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void operation(const Operation& operation, const Communicator& communicator,
                         const Tally& tally) = 0;
  virtual void call(const Call& call, const Tally& tally) = 0;
  virtual void proxy_op(const ProxyOpRow& row, const Tally& tally) = 0;
  virtual void step(const StepRow& row, const Tally& tally) = 0;
  virtual void kernel(const KernelRow& row, const Tally& tally) = 0;
  virtual void control(const ControlRow& row, const Tally& tally) = 0;
  virtual void net(const NetRow& row, const Tally& tally) = 0;
  virtual void copy_engine(const CopyEngineRow& row, const Tally& tally) = 0;
  /// A moment; a range when it begins (its end is not known yet), and again when it ends.
  virtual void mark(const Mark& mark) = 0;

  /// A row that sampling leaves out, by its id; of operations' own lines by journal_format.h's
  /// name.
  virtual void leave_out(std::uint64_t) {}
  /// A finished operation that the sampling leaves out of the trace: for what counts all.
  virtual void left_out(const Operation&, const Communicator&) {}

  virtual void thread(std::int32_t tid, std::string_view name) = 0;
  virtual void communicator(const Communicator& communicator) = 0;
  virtual void gpu_clock(std::uint32_t context, const GpuClockFit& fit) = 0;

  /// All operations that were enqueued before this have been handed over.
  virtual void complete_until(std::int64_t ts_ns) = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SINK_H
