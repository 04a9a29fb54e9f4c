// SPDX-License-Identifier: Apache-2.0
//
// The events below the calls: proxy operations and their steps, kernel channels, and the events of
// network plugins, copy engines and proxy threads. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CHILDREN_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CHILDREN_H

#include <cstdint>

#include "plugin/assemble/clocks/gpu_clocks.h"
#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/operations.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/sink.h"

namespace ringside::assemble {

class Children {
 public:
  Children(Events& events, Operations& operations, GpuClocks& gpu_clocks, RowWriter& rows)
      : events_(events), operations_(operations), gpu_clocks_(gpu_clocks), rows_(rows) {}

  /// An event has begun. Returns the number of its operation, which is its parent's, or
  /// `given_operation` if the parent is not known; 0: none.
  std::uint64_t start(const RecordView& view, std::uint64_t given_operation);
  void state(const RecordView& view, Event& event);
  /// An event has ended. Writes its row, and for a proxy operation the rows of its open steps. The
  /// caller writes the row of a kernel channel. Returns the event's operation; NULL: none.
  OpenOperation* stop(const RecordView& view, Event& event);

  /// Writes the row of an open event to `sink`, marked in flight.
  static void write_open(Sink& sink, const Event& event, std::int64_t now_ns);

 private:
  void take_data(const Event& event, DataState state, std::int64_t ts_ns);
  void stop_proxy_op(ProxyOpEvent& proxy, const Event& event, std::int64_t ts_ns);
  void stop_step(StepEvent& step, const Event& event, std::int64_t ts_ns);

  Events& events_;
  Operations& operations_;
  GpuClocks& gpu_clocks_;
  RowWriter& rows_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CHILDREN_H
