// SPDX-License-Identifier: Apache-2.0
//
// Receives finished events from the assembler, on the assembler's thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SINK_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SINK_H

#include <cstdint>
#include <string_view>

#include "plugin/assemble/clocks/gpu_clock.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void row(const Row& row, const Tally& tally) = 0;
  /// A row that sampling keeps out of the trace. An operation comes here only when it is finished.
  virtual void sampled_out(const Row&) {}
  /// A record that belongs to no event any more, as the second stop of a call.
  virtual void stale(const RecordView&) {}
  /// A range of the application has begun. Its row comes when it ends.
  virtual void range_begins(const Mark&) {}

  virtual void thread(std::int32_t tid, std::string_view name) = 0;
  virtual void communicator(const Communicator& communicator) = 0;
  virtual void gpu_clock(std::uint32_t context, const GpuClockFit& fit) = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SINK_H
