// SPDX-License-Identifier: Apache-2.0
//
// Receives rows and marks from the assembler: writes their lines, notes in the journal what is
// written, and adds operations to the live metrics. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_SEGMENT_SINK_H
#define RINGSIDE_PLUGIN_DRAIN_SEGMENT_SINK_H

#include <new>
#include <string_view>

#include "plugin/assemble/sink.h"
#include "plugin/drain/trace_segments.h"
#include "plugin/export/live_metrics.h"

namespace ringside::drain {

class SegmentSink final : public assemble::Sink {
 public:
  SegmentSink(TraceSegments& segments, exporting::LiveMetrics& metrics)
      : segments_(segments), metrics_(metrics) {}

  void row(const assemble::Row& row, const assemble::Tally& tally) override;
  void sampled_out(const assemble::Row& row) override;
  void stale(const assemble::RecordView& view) override {
    note(assemble::row_id(view.id) | assemble::kStaleKey);
  }
  void range_begins(const assemble::Mark& range) override {
    write_event(0, {}, [&] { segments_.trace().range_begins(range); });
  }
  void thread(std::int32_t tid, std::string_view name) override {
    segments_.repeated().thread(tid, name);
  }
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override;

 private:
  /// Writes all lines of an event, or none if memory is too short. In that case the event is
  /// counted as dropped. The assembler must not see the failure: it would write the event again.
  template <typename Write>
  bool write_event(std::uint32_t context, const assemble::Tally& tally, Write write) {
    exporting::SegmentFiles& files = segments_.files();
    try {
      files.begin_event();
      segments_.before_event(context);
      files.begin_event();
      write();
      return true;
    } catch (const std::bad_alloc&) {
      files.drop_event(tally);
      return false;
    }
  }
  /// If memory is too short, an operation is missing in the metrics, but the assembler must not
  /// pass it again.
  void count(const assemble::OperationRow& of);
  /// The row is done with, so a recovery must not write it. If memory is too short to note this, a
  /// recovery writes the row twice when the process dies now.
  void note(std::uint64_t key);

  TraceSegments& segments_;
  exporting::LiveMetrics& metrics_;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_SEGMENT_SINK_H
