// SPDX-License-Identifier: Apache-2.0
//
// The files of this process's trace: when each segment begins and ends, what it begins and ends
// with, and what happens where a file cannot be made or written. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/config/config.h"
#include "plugin/drain/repeated_lines.h"
#include "plugin/drain/trace_account.h"
#include "plugin/drain/trace_clock.h"
#include "plugin/drain/trace_figures.h"
#include "plugin/drain/trace_journal.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/export/process_facts.h"
#include "plugin/export/segment_files.h"
#include "plugin/export/trace_snapshot.h"
#include "plugin/result/result.h"

namespace ringside::control {

class TraceSegments {
 public:
  TraceSegments(const Config& config, exporting::ProcessFacts& facts,
                const assemble::Assembler& assembler, const TraceClock& clock,
                const TraceAccount& account, TraceJournal& journal, TraceFigures& figures);

  const std::string& directory() const { return directory_; }
  const std::string& path() const { return path_; }
  /// The flight recorder keeps its segments there.
  void keep_in(const std::string& ring_directory) { ring_directory_ = ring_directory; }

  /// Begins the trace: there is something to write. The windows so far are in it.
  void begin();
  bool has_begun() const { return begun_; }
  /// A window has opened, changed or ended. Before begin() it does nothing.
  void write_window(const exporting::Window& window) {
    if (begun_) {
      trace_.window(window);
    }
  }

  /// Lines are written to it; those of an event after before_event().
  exporting::ChromeTrace& trace() { return trace_; }
  exporting::SegmentFiles& files() { return files_; }
  const exporting::SegmentFiles& files() const { return files_; }
  RepeatedLines& repeated() { return repeated_; }
  const RepeatedLines& repeated() const { return repeated_; }

  /// An event of this communicator (0: of none) comes next. Between two events, the lines so far
  /// are written if there are many, and the next segment is begun if this one is full. So neither
  /// memory nor a file grows beyond its bound, however much the assembler finishes at once.
  void before_event(std::uint32_t context) {
    if (files_.has_much() || files_.is_full(clock_.now_ns())) {
      make_room();
    }
    repeated_.before_event(context);
  }

  /// Writes all lines, writes again what was lost if there is room again, and has the figures and
  /// the journal say how far the trace is. Before begin() it does nothing.
  void flush();
  /// Writes the lines that are due now and then: account and clock. Compresses what is full.
  void write_due();

  /// What is written from here on is the process's last: it may take more room than there is,
  /// unless each segment is compressed when it is full.
  void expect_close();
  /// Writes the end of the trace; all events have been written.
  void close();
  bool is_closed() const { return closed_ || !begun_; }

  // What a dump is made of, beside what is in flight.

  /// As SegmentFiles::hold_kept(). Without a file there is nothing to hold.
  Result hold(std::vector<exporting::TracePart>& parts) const {
    return files_.is_open() ? files_.hold_kept(parts) : Result();
  }
  void write_begin_of_dump(exporting::ChromeTrace& dump) const;
  /// What its files lack, since a write has failed.
  void write_lost(exporting::ChromeTrace& dump) const;
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
  void compress_at_exit();

  const Config& config_;
  exporting::ProcessFacts& facts_;
  const TraceClock& clock_;
  const TraceAccount& account_;
  TraceJournal& journal_;
  TraceFigures& figures_;
  const std::string directory_;
  const std::string path_;
  /// Of the flight recorder's segments. Where no file can be made, they are memory without a name.
  std::string ring_directory_ = "/dev/null";
  exporting::SegmentFiles files_;
  exporting::ChromeTrace trace_;
  RepeatedLines repeated_;
  bool begun_ = false;
  bool closed_ = false;
  std::int64_t next_attempt_ns_ = 0;  // to make the file, and to write again what was lost
  std::int64_t next_account_ns_ = 0;
  std::int64_t next_clock_ns_ = 0;
  std::uint64_t accounted_ = 0;        // callbacks, in the last account
  std::int64_t compress_left_ns_ = 0;  // for compress_at_exit
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_SEGMENTS_H
