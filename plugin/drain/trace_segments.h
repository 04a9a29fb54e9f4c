// SPDX-License-Identifier: Apache-2.0
//
// The trace of this process: receives rows and marks from the assembler, writes their lines, notes
// in the journal what is written, and adds operations to the live metrics. It has the trace's
// files, and the journal, which notes how far they have come. It decides when a segment begins and
// ends, writes its first and last lines, and handles files that cannot be made or written. Used by
// the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/assemble/sink.h"
#include "plugin/config/config.h"
#include "plugin/drain/repeated_lines.h"
#include "plugin/drain/trace_account.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/segment_files.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/journal.h"
#include "plugin/record/recorder.h"
#include "plugin/result/result.h"

namespace ringside::drain {

/// The clock of the drain thread: the last clock reading, and the model made from all readings.
class TraceClock {
 public:
  TraceClock() : reading_(record::read_clocks(source())), model_(reading_), now_ns_(ns(now())) {}

  static record::ClockSource source() { return record::g_recorder.clock_source(); }

  /// Reads the clocks again, so that older ticks can be converted. Returns the step that the
  /// reading shows, if any. Throws std::bad_alloc.
  std::optional<assemble::ClockStep> read() {
    const record::ClockReading reading = record::read_clocks(source());
    const auto step = model_.add(reading);
    reading_ = reading;
    now_ns_ = model_.ns_of_steady(now());
    return step;
  }

  const assemble::ClockModel& model() const { return model_; }
  const record::ClockReading& reading() const { return reading_; }
  /// The last reading's time on the trace's time line, and its steady ticks.
  std::int64_t now_ns() const { return now_ns_; }
  std::uint64_t now() const { return model_.steady(reading_.ticks, true); }

  /// Converts raw ticks to a time.
  std::int64_t ns(std::uint64_t ticks) const { return model_.ns(ticks); }

 private:
  record::ClockReading reading_;
  assemble::ClockModel model_;
  std::int64_t now_ns_;
};

class TraceSegments final : public assemble::Sink {
 public:
  TraceSegments(const config::Config& config, exporting::ProcessFacts& facts,
                assemble::Assembler& assembler, const TraceClock& clock,
                const TraceAccount& account, exporting::LiveMetrics& metrics,
                TraceFigures& figures);

  /// Begins a journal in this zeroed memory, before the first event.
  journal::Journal& keep_journal(void* memory, std::size_t bytes);
  /// Returns NULL if there is no journal.
  journal::Journal* journal() { return journal_ ? &*journal_ : nullptr; }
  /// Writes a checkpoint. All lines given to the trace's files must be written, or counted as lost.
  void checkpoint();
  /// Writes all lines, and makes room in the journal for any record. Throws std::bad_alloc.
  void make_room_in_journal();

  const std::string& directory() const { return directory_; }
  const std::string& path() const { return path_; }
  /// Sets the directory of the flight recorder's segments.
  void keep_in(const std::string& ring_directory) { ring_directory_ = ring_directory; }

  /// Begins the trace, with the windows so far, when there is something to write.
  void begin();
  bool has_begun() const { return begun_; }
  /// Writes a window that has opened, changed or ended. Does nothing before begin().
  void write_window(const exporting::Window& window) {
    if (begun_) {
      trace_.window(window);
    }
  }

  /// The trace to which lines are written that belong to no event.
  exporting::ChromeTrace& trace() { return trace_; }
  exporting::SegmentFiles& files() { return files_; }
  const exporting::SegmentFiles& files() const { return files_; }
  RepeatedLines& repeated() { return repeated_; }
  const RepeatedLines& repeated() const { return repeated_; }

  void row(const assemble::Row& row, const assemble::Tally& tally) override;
  void sampled_out(const assemble::Row& row) override;
  void stale(const assemble::RecordView& view) override {
    note(assemble::row_id(view.id) | assemble::kStaleKey);
  }
  void range_begins(const assemble::Mark& range) override {
    write_event(0, {}, [&] { trace_.range_begins(range); });
  }
  void thread(std::int32_t tid, std::string_view name) override { repeated_.thread(tid, name); }
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override;

  /// Writes all lines, and lost lines again if there is room. Brings the figures and the journal up
  /// to date. Does nothing before begin().
  void flush();
  /// flush(), unless what is compressed would be too little to be worth it.
  void flush_if_worth();
  /// Writes the account and the clock if they are due.
  void write_due();

  /// Writes the end of the trace. All events must have been written.
  void close();
  bool is_closed() const { return closed_ || !begun_; }

  /// Makes a snapshot of the trace as it is now: what is written, and what is in flight. Fails with
  /// the system's error if a file of the trace cannot be opened.
  Result make_snapshot(exporting::TraceSnapshot& made);

 private:
  /// Writes all lines of an event, or none if memory is too short. In that case the event is
  /// counted as dropped. The assembler must not see the failure: it would write the event again.
  template <typename Write>
  bool write_event(std::uint32_t context, const assemble::Tally& tally, Write write) {
    try {
      files_.begin_event();
      before_event(context);
      files_.begin_event();
      write();
      return true;
    } catch (const std::bad_alloc&) {
      files_.drop_event(tally);
      return false;
    }
  }
  /// The next event is of this communicator (0: none). Writes the lines so far if there are many,
  /// and begins the next segment if this one is full. So memory and files stay within their bounds,
  /// however much the assembler finishes at once.
  void before_event(std::uint32_t context) {
    if (files_.has_much() || files_.is_full(clock_.now_ns())) {
      make_room();
    }
    repeated_.before_event(context);
  }
  /// If memory is too short, an operation is missing in the metrics, but the assembler must not
  /// pass it again.
  void count(const assemble::OperationRow& of);
  /// The row is done with, so a recovery must not write it. If memory is too short to note this, a
  /// recovery writes the row twice when the process dies now.
  void note(std::uint64_t key);
  /// Writes the last reading of the clocks, and what the kernel says of their error.
  void write_clock(exporting::ChromeTrace& trace) const;
  void write_account(exporting::ChromeTrace& trace, bool final) const;
  void write_end(exporting::ChromeTrace& trace, std::uint64_t operations,
                 std::uint32_t next_segment = 0) const;
  void open();
  exporting::SegmentHeader make_header(std::uint32_t segment);
  void make_room();
  void begin_next();
  bool end_current(std::uint32_t next);
  bool store();
  bool write_lost();

  const config::Config& config_;
  exporting::ProcessFacts& facts_;
  assemble::Assembler& assembler_;
  const TraceClock& clock_;
  const TraceAccount& account_;
  exporting::LiveMetrics& metrics_;
  TraceFigures& figures_;
  const std::string directory_;
  /// The directory of the flight recorder's segments. In the default they are memory without a
  /// name.
  std::string ring_directory_ = "/dev/null";
  exporting::SegmentFiles files_;
  const std::string path_;
  exporting::ChromeTrace trace_;
  RepeatedLines repeated_;
  std::optional<journal::Journal> journal_;
  const assemble::Answer answer_ = [this](std::span<assemble::Question> asked) {
    assembler_.answer(asked);
  };
  bool begun_ = false;
  bool closed_ = false;
  std::int64_t next_attempt_ns_ = 0;  // the next try to make the file or write lost lines
  std::int64_t next_account_ns_ = 0;
  std::int64_t next_clock_ns_ = 0;
  std::int64_t next_flush_ns_ = 0;  // of a compressed trace
  std::uint64_t accounted_ = 0;     // the callbacks in the last account
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H
