// SPDX-License-Identifier: Apache-2.0
//
// The pipeline that the drain thread runs: clocks, notes, rings, assembler, lines, files. Its
// methods stand in that order, and each calls the stages one after the other.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/config/config.h"
#include "plugin/doors/operation_printer.h"
#include "plugin/drain/live_answers.h"
#include "plugin/drain/ring_reader.h"
#include "plugin/drain/segment_sink.h"
#include "plugin/drain/trace_account.h"
#include "plugin/drain/trace_clock.h"
#include "plugin/drain/trace_figures.h"
#include "plugin/drain/trace_journal.h"
#include "plugin/drain/trace_segments.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/metrics_text.h"
#include "plugin/export/process_facts.h"
#include "plugin/result/result.h"

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
  void keep_segments_in(const std::string& ring_directory) { segments_.keep_in(ring_directory); }

  /// Puts into the journal at once what apply() will put into the trace: any thread. A process that
  /// dies before the drain thread has looked has its records in the rings; this is what they mean.
  void announce(const assemble::Communicator& communicator, const NcclFacts& nccl,
                std::uint32_t window, std::uint32_t types) {
    journal_.announce(communicator, nccl, window, types);
  }

  /// The application made a mark, or began a range; whether it had no room. Any thread, but one at
  /// a time.
  void count_mark(bool is_range, bool is_lost) { journal_.count_mark(is_range, is_lost); }

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
  void expect_close() { segments_.expect_close(); }
  void close();
  bool is_closed() const { return segments_.is_closed(); }

  /// One of the calls above has thrown std::bad_alloc: what was at work then is lost.
  void note_memory_short() { account_.note_memory_short(); }

  /// What has been in flight for so long; Assembler::in_flight_since says which of it.
  std::vector<assemble::InFlight> in_flight_for(std::int64_t least_ns) const {
    return assembler_.in_flight_since(now_ns() - least_ns);
  }
  /// Of the last read_clocks().
  std::int64_t now_ns() const { return clock_.now_ns(); }
  /// NULL if it is not known.
  const assemble::Communicator* find_communicator(std::uint32_t context) const {
    return control::find_communicator(assembler_, context);
  }
  /// Records that NCCL's threads could not store; ends of operations may be among them.
  std::uint64_t dropped_by_rings() const;

  /// Of a complete trace as it is now: what is written, and what is in flight. Fails with the
  /// system's error if a file of it cannot be opened.
  Result make_snapshot(exporting::TraceSnapshot& made);

  /// Operations that have begun, as far as the rings are read. The drain thread's.
  std::uint64_t begun() const { return assembler_.next_operation() - 1; }
  /// The live metrics, as of the last time the rings were read.
  std::string metrics_text(exporting::MetricsForm form) const;
  /// Their sums by communicator, as members of an answer of the control socket (docs/control.md).
  std::string live_members() const { return control::live_members(assembler_, metrics_, now_ns()); }

  /// Marks of the application that have been applied and no longer wait for their turn.
  std::uint64_t marks_taken() const { return assembler_.marks_taken(); }
  /// What the session had no room for, since the process began; the trace's end says it.
  void set_marks_refused(std::uint64_t marks, std::uint64_t ranges) {
    account_.set_marks_refused(marks, ranges);
  }
  /// For which the assembler had no room.
  std::uint64_t ranges_left_out() const { return assembler_.ranges_left_out(); }
  /// That the disk did not take.
  std::uint64_t marks_not_written() const { return segments_.files().counts().marks_dropped; }
  std::uint64_t ranges_not_written() const { return segments_.files().counts().ranges_dropped; }

  /// What is asked for in RINGSIDE_SAMPLE and cannot be done, each once; empty if there is nothing.
  std::string take_sampling_notice();
  /// What to warn of, each once; empty if there is nothing.
  std::string take_notice();

  // Any thread.
  const std::string& path() const { return segments_.path(); }
  const std::string& directory() const { return segments_.directory(); }
  /// Of it what is known at load: job, host, process, run, the launcher's rank.
  const exporting::ProcessFacts& facts() const { return facts_; }
  bool has_file() const { return figures_.has_file.load(std::memory_order_acquire); }
  bool trouble() const { return figures_.trouble.load(std::memory_order_relaxed); }
  int last_error() const { return figures_.last_error.load(std::memory_order_relaxed); }
  std::uint64_t operations() const { return figures_.operations.load(std::memory_order_relaxed); }
  std::uint64_t bytes_written() const {
    return figures_.bytes_written.load(std::memory_order_relaxed);
  }
  /// In all files of this trace that are there, or in memory.
  std::uint64_t bytes_kept() const { return figures_.bytes_kept.load(std::memory_order_relaxed); }
  /// Callbacks that were in segments that are deleted.
  std::uint64_t rotated() const { return figures_.rotated.load(std::memory_order_relaxed); }
  /// Events that were written open, since too many were.
  std::uint64_t given_up() const { return figures_.given_up.load(std::memory_order_relaxed); }
  /// Lines of operations that nobody took (RINGSIDE_MARKERS_PRINT).
  std::uint64_t lines_lost() const { return printer_ ? printer_->lost() : 0; }
  /// Callbacks lost behind the rings: file not writable, out of memory.
  std::uint64_t lost() const { return figures_.lost.load(std::memory_order_relaxed); }

 private:
  void begin_trace();
  std::uint64_t take_records(std::uint64_t until_ticks);
  bool make_room_in_journal();

  const Config& config_;
  exporting::ProcessFacts facts_;
  TraceFigures figures_;
  TraceClock clock_;
  // The stages, from the files back to the rings. A stage that refers to one behind it does not use
  // it before all are made.
  TraceSegments segments_;
  exporting::LiveMetrics metrics_;
  std::optional<OperationPrinter> printer_;
  SegmentSink lines_;
  TraceJournal journal_;
  assemble::Assembler assembler_;
  RingReader reader_;
  TraceAccount account_;

  std::vector<assemble::UserMark> early_marks_;  // from before there is a trace
  std::int64_t read_until_ns_ = 0;
  bool places_lost_ = false;
  std::int64_t next_settle_ns_ = 0;
  std::optional<assemble::ClockStep> step_to_warn_of_;
  bool notice_taken_ = false;
  bool coll_unsampled_warned_ = false;
  bool p2p_unsampled_warned_ = false;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H
