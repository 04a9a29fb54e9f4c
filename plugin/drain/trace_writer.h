// SPDX-License-Identifier: Apache-2.0
//
// What the drain thread works with: clock, assembler and trace file, from notes and rings to lines.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clock_model.h"
#include "plugin/config/config.h"
#include "plugin/doors/operation_printer.h"
#include "plugin/drain/ring_reader.h"
#include "plugin/drain/segment_sink.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/metrics_text.h"
#include "plugin/export/process_facts.h"
#include "plugin/export/segment_files.h"
#include "plugin/journal/journal.h"
#include "plugin/journal/journal_sink.h"

namespace ringside::control {

// Notes that other threads leave for the drain thread. Times are ticks of record/clock.h.
struct OpenNote {
  assemble::Communicator communicator;
  std::uint64_t ticks;
  NcclFacts nccl;
};
struct CloseNote {
  std::uint32_t context;
  std::uint64_t ticks;
};
struct WindowNote {
  std::uint32_t number;
  std::uint64_t ticks;
  bool opens;
  std::uint32_t types;
  bool mask_changed = false;  ///< it closes since somebody else has changed NCCL's activation mask
};
/// Other events of the same operations are asked for while recording goes on.
struct TypesNote {
  std::uint64_t ticks;
  std::uint32_t types;
};
struct MarkNote {
  assemble::UserMark mark;  ///< its ts_ns is not known yet
  std::uint64_t ticks = 0;
};

class TraceWriter {
 public:
  explicit TraceWriter(const Config& config);

  /// Keeps a journal in this zeroed memory from before the first event on.
  void keep_journal(void* memory, std::size_t bytes);
  /// The flight recorder keeps its segments there.
  void keep_segments_in(const std::string& ring_directory) { ring_directory_ = ring_directory; }

  /// Puts into the journal at once what apply() will put into the trace: any thread. A process that
  /// dies before the drain thread has looked has its records in the rings; this is what they mean.
  void announce(const assemble::Communicator& communicator, const NcclFacts& nccl,
                std::uint32_t window, std::uint32_t types);

  /// The application made a mark, or began a range; whether it had no room. Any thread, but one at
  /// a time.
  void count_mark(bool is_range, bool is_lost);

  /// Reads the clocks: all that is older can be converted from here on. Returns the reading's
  /// steady ticks.
  std::uint64_t read_clocks();

  void apply(const OpenNote& note);
  void apply(const CloseNote& note);
  void apply(const WindowNote& note);
  void apply(const TypesNote& note);
  void apply(const MarkNote& note);

  /// Takes the rings' records up to these steady ticks; how many there were.
  std::uint64_t read_rings(std::uint64_t until_ticks);
  bool rings_fill_fast() const { return reader_.fills_fast(); }

  /// Finishes and writes what is due.
  void settle();
  /// What is written from here on is the process's last: it may take more room than there is,
  /// unless each segment is compressed when it is full. No thread of NCCL waits for that, but the
  /// exit.
  void expect_close();
  void close();
  bool is_closed() const { return closed_ || !trace_begun_; }

  /// One of the calls above has thrown std::bad_alloc: what was at work then is lost.
  void note_memory_short() { memory_was_short_ = true; }

  /// What has been in flight for so long; Assembler::in_flight_since says which of it.
  std::vector<assemble::InFlight> in_flight_for(std::int64_t least_ns) const {
    return assembler_.in_flight_since(now_ns_ - least_ns);
  }
  /// Of the last read_clocks().
  std::int64_t now_ns() const { return now_ns_; }
  /// NULL if it is not known.
  const assemble::Communicator* find_communicator(std::uint32_t context) const;
  /// Records that NCCL's threads could not store; ends of operations may be among them.
  std::uint64_t dropped_by_rings();

  /// Of a complete trace as it is now: what is written, and what is in flight. False, with errno,
  /// if a file of it cannot be opened.
  bool make_snapshot(exporting::TraceSnapshot& made);

  /// Operations that have begun, as far as the rings are read. The drain thread's.
  std::uint64_t begun() const { return assembler_.next_operation() - 1; }
  /// The live metrics, as of the last time the rings were read.
  std::string metrics_text(exporting::MetricsForm form);
  /// Their sums by communicator, as members of an answer of the control socket (docs/control.md).
  std::string live_members();

  /// Marks of the application that have been applied and no longer wait for their turn.
  std::uint64_t marks_taken() const { return assembler_.marks_taken(); }
  /// What the session had no room for, since the process began; the trace's end says it.
  void set_marks_refused(std::uint64_t marks, std::uint64_t ranges) {
    marks_refused_ = marks;
    ranges_refused_ = ranges;
  }
  /// For which the assembler had no room.
  std::uint64_t ranges_left_out() const { return assembler_.ranges_left_out(); }
  /// That the disk did not take.
  std::uint64_t marks_not_written() const { return file_.counts().marks_dropped; }
  std::uint64_t ranges_not_written() const { return file_.counts().ranges_dropped; }

  /// What is asked for in RINGSIDE_SAMPLE and cannot be done, each once; empty if there is nothing.
  std::string take_sampling_notice();
  /// What to warn of, each once; empty if there is nothing.
  std::string take_notice();

  // Any thread.
  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }
  /// Of it what is known at load: job, host, process, run, the launcher's rank.
  const exporting::ProcessFacts& facts() const { return facts_; }
  bool has_file() const { return has_file_.load(std::memory_order_acquire); }
  bool trouble() const { return trouble_.load(std::memory_order_relaxed); }
  int last_error() const { return last_error_.load(std::memory_order_relaxed); }
  std::uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  /// In all files of this trace that are there, or in memory.
  std::uint64_t bytes_kept() const { return bytes_kept_.load(std::memory_order_relaxed); }
  /// Callbacks that were in segments that are deleted.
  std::uint64_t rotated() const { return rotated_.load(std::memory_order_relaxed); }
  /// Events that were written open, since too many were.
  std::uint64_t given_up() const { return given_up_.load(std::memory_order_relaxed); }
  /// Lines of operations that nobody took (RINGSIDE_MARKERS_PRINT).
  std::uint64_t lines_lost() const { return printer_ ? printer_->lost() : 0; }
  /// Callbacks lost behind the rings: file not writable, out of memory.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void begin_trace();
  void open_file();
  exporting::SegmentHeader make_header(std::uint32_t segment);
  void make_room();
  void next_segment();
  bool end_segment(std::uint32_t next);
  void repeat_windows(exporting::ChromeTrace& trace) const;
  bool store();
  bool tell_lost();
  void compress_at_exit();
  void fail(int error);
  void flush();
  void checkpoint();
  void write_account(exporting::ChromeTrace& trace, bool final);
  exporting::Account account(bool final = false);
  exporting::TraceEnd end_of_trace() const;

  exporting::ProcessFacts facts_;
  exporting::ProcessFacts first_facts_;  // as at load, for announce
  std::string directory_;
  std::string path_;
  /// Of the flight recorder's segments. Where no file can be made, they are memory without a name.
  std::string ring_directory_ = "/dev/null";
  record::ClockReading reading_;
  assemble::ClockModel clock_;
  const Config& config_;
  exporting::SegmentFiles file_;
  exporting::ChromeTrace trace_;
  exporting::LiveMetrics metrics_;
  std::optional<OperationPrinter> printer_;
  SegmentSink segments_;
  assemble::JournalSink sink_;
  assemble::Assembler assembler_;
  assemble::RingReader reader_;
  std::optional<assemble::Journal> journal_;
  std::int64_t now_ns_ = 0;
  std::int64_t read_until_ns_ = 0;
  bool places_lost_ = false;
  std::int64_t next_settle_ns_ = 0;
  std::int64_t compress_left_ns_ = 0;  // for compress_at_exit
  std::int64_t next_account_ns_ = 0;
  std::int64_t next_clock_ns_ = 0;
  std::uint64_t accounted_ = 0;
  /// Marks and ranges that were made, and lost, before there was a journal.
  std::array<std::array<std::uint64_t, 2>, 2> early_counts_{};
  std::uint64_t marks_refused_ = 0;
  std::uint64_t ranges_refused_ = 0;
  bool trace_begun_ = false;
  bool closed_ = false;
  bool memory_was_short_ = false;
  bool has_lost_lines_ = false;       // of those that must be told again
  std::int64_t next_attempt_ns_ = 0;  // to make the file, and to tell again what it has lost
  bool notice_taken_ = false;
  int steps_ = 0;  // of the clock
  std::optional<assemble::ClockStep> step_to_tell_;
  bool coll_unsampled_told_ = false;
  bool p2p_unsampled_told_ = false;
  std::vector<exporting::Window> windows_;
  std::vector<assemble::UserMark> early_marks_;  // from before there is a trace
  std::atomic<bool> has_file_{false};
  std::atomic<bool> trouble_{false};
  std::atomic<int> last_error_{0};
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> bytes_kept_{0};
  std::atomic<std::uint64_t> rotated_{0};
  std::atomic<std::uint64_t> given_up_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H
