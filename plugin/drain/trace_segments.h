// SPDX-License-Identifier: Apache-2.0
//
// The files of this process's trace, and the journal, which notes how far they have come. Decides
// when a segment begins and ends, writes its first and last lines, and handles files that cannot be
// made or written. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/config/config.h"
#include "plugin/drain/repeated_lines.h"
#include "plugin/drain/trace_account.h"
#include "plugin/drain/trace_clock.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/lines/process_facts.h"
#include "plugin/export/segment_files.h"
#include "plugin/export/trace_snapshot.h"
#include "plugin/journal/journal.h"
#include "plugin/result/result.h"

namespace ringside::drain {

class TraceSegments {
 public:
  TraceSegments(const config::Config& config, exporting::ProcessFacts& facts,
                const assemble::Assembler& assembler, const TraceClock& clock,
                const TraceAccount& account, TraceFigures& figures);

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

  /// The trace to which lines are written. before_event() must precede the lines of an event.
  exporting::ChromeTrace& trace() { return trace_; }
  exporting::SegmentFiles& files() { return files_; }
  const exporting::SegmentFiles& files() const { return files_; }
  RepeatedLines& repeated() { return repeated_; }
  const RepeatedLines& repeated() const { return repeated_; }

  /// The next event is of this communicator (0: none). Writes the lines so far if there are many,
  /// and begins the next segment if this one is full. So memory and files stay within their bounds,
  /// however much the assembler finishes at once.
  void before_event(std::uint32_t context) {
    if (files_.has_much() || files_.is_full(clock_.now_ns())) {
      make_room();
    }
    repeated_.before_event(context);
  }

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

  // The parts of a dump, besides what is in flight.

  /// See SegmentFiles::hold_kept(). Without a file there is nothing to hold.
  Result hold(std::vector<exporting::TracePart>& parts) const {
    return files_.is_open() ? files_.hold_kept(parts) : Result();
  }
  void write_begin_of_dump(exporting::ChromeTrace& dump) const;
  /// Writes the lines that the files lack because a write has failed.
  void write_lost(exporting::ChromeTrace& dump) const;
  /// Writes the last reading of the clocks, and what the kernel says of their error.
  void write_clock(exporting::ChromeTrace& trace) const;
  void write_account(exporting::ChromeTrace& trace, bool final) const;
  void write_end(exporting::ChromeTrace& trace, std::uint64_t operations,
                 std::uint32_t next_segment = 0) const;

 private:
  void open();
  exporting::SegmentHeader make_header(std::uint32_t segment);
  void make_room();
  void begin_next();
  bool end_current(std::uint32_t next);
  bool store();
  bool write_lost();

  const config::Config& config_;
  exporting::ProcessFacts& facts_;
  const assemble::Assembler& assembler_;
  const TraceClock& clock_;
  const TraceAccount& account_;
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
