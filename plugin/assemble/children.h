// SPDX-License-Identifier: Apache-2.0
//
// What happens below the calls: proxy operations and their steps, kernel channels, and the events
// of network plugins, copy engines and proxy threads. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CHILDREN_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CHILDREN_H

#include <cstdint>

#include "plugin/assemble/event.h"
#include "plugin/assemble/gpu_clocks.h"
#include "plugin/assemble/operations.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/row_writer.h"

namespace ringside::assemble {

class Children {
 public:
  Children(Events& events, Operations& operations, GpuClocks& gpu_clocks, RowWriter& rows)
      : events_(events), operations_(operations), gpu_clocks_(gpu_clocks), rows_(rows) {}

  /// An event has begun. Returns the number of the operation that it belongs to: its parent's, or,
  /// where that is not known, the one that the record was given before; 0: none.
  std::uint64_t start(const RecordView& view, std::uint64_t given_operation);
  void state(const RecordView& view, Event& event);
  /// An event has ended: writes its row, and those of its steps that NCCL never stops. A kernel's
  /// row is not written: its stamps are placed with its operation's. Returns the operation that the
  /// event belongs to; NULL: none.
  OpenOperation* stop(const RecordView& view, Event& event);

  /// Hands the row of an event that has not ended to `sink`, marked in flight.
  static void write_open(Sink& sink, const Event& event, std::int64_t now_ns);

 private:
  void stop_proxy_op(ProxyOpEvent& proxy, const Event& event, std::int64_t ts_ns);
  void stop_step(StepEvent& step, const Event& event, std::int64_t ts_ns);

  Events& events_;
  Operations& operations_;
  GpuClocks& gpu_clocks_;
  RowWriter& rows_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CHILDREN_H
