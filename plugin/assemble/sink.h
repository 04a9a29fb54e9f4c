// SPDX-License-Identifier: Apache-2.0
//
// Receives finished events from the assembler, on the assembler's thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SINK_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SINK_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/assemble/account.h"
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

/// Hands finished rows to the sink, and counts those that sampling keeps out of the trace.
class RowWriter {
 public:
  /// The callbacks of the rows that sampling keeps out are added to `sampled_out`.
  RowWriter(Sink& sink, TypeCounts& sampled_out) : sink_(sink), sampled_out_(sampled_out) {}

  void write(const Row& row, const Tally& tally, bool is_sampled_out = false) {
    if (is_sampled_out) {
      sampled_out_[static_cast<std::size_t>(tally.type)] += tally.starts + tally.joined;
      sink_.sampled_out(row);
    } else {
      sink_.row(row, tally);
    }
  }

 private:
  Sink& sink_;
  TypeCounts& sampled_out_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SINK_H
