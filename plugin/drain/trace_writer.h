// SPDX-License-Identifier: Apache-2.0
//
// The pipeline that the drain thread runs: clocks, notes, rings, assembler, lines, files. Its
// methods are declared in that order, in which the drain thread calls them.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/config/config.h"
#include "plugin/drain/live_answers.h"
#include "plugin/drain/ring_reader.h"
#include "plugin/drain/trace_account.h"
#include "plugin/drain/trace_segments.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/live_metrics.h"
#include "plugin/result/result.h"
#include "plugin/topology/machine.h"

namespace ringside::drain {

// Notes that other threads leave for the drain thread. Times are ticks of record/clock.h.
struct OpenNote {
  assemble::Communicator communicator;
  std::uint64_t ticks;
  config::NcclFacts nccl;
};
struct CloseNote {
  std::uint32_t context;
  std::uint64_t ticks;
};
struct WindowNote {
  /// kChanges: NCCL is asked for other event types while the window stays open.
  enum class What : std::uint8_t { kOpens, kChanges, kEnds };
  std::uint32_t number;
  std::uint64_t ticks;
  What what;
  std::uint32_t types;
  bool mask_changed = false;  ///< it ends since other code has changed NCCL's activation mask
};

class TraceWriter {
 public:
  explicit TraceWriter(const config::Config& config);

  /// Begins a journal in this zeroed memory, before the first event.
  void keep_journal(void* memory, std::size_t bytes);
  /// Sets the directory of the flight recorder's segments.
  void keep_segments_in(const std::string& ring_directory) { segments_.keep_in(ring_directory); }

  /// Notes in the journal at once what apply() will put into the trace. If the process dies before
  /// that, recovery needs it to understand the records in the rings. Any thread.
  void announce(const assemble::Communicator& communicator, const config::NcclFacts& nccl,
                std::uint32_t window, std::uint32_t types);

  /// Reads the clocks, so that older ticks can be converted. Returns the reading's steady ticks.
  std::uint64_t read_clocks();

  void apply(const OpenNote& note);
  void apply(const CloseNote& note);
  void apply(const WindowNote& note);
  /// A reading of the machine has ended, or will not end any more. Its lines are written now.
  void apply(topology::Machine machine);
  /// True from the first communicator on.
  bool has_begun() const { return segments_.has_begun(); }
  bool all_are_closed() const { return open_communicators_ == 0; }

  /// Takes the rings' records up to these steady ticks. Returns their number. Before the first
  /// communicator, the application's marks wait in their rings.
  std::uint64_t read_rings(std::uint64_t until_ticks);
  bool rings_fill_fast() const { return reader_.fills_fast(); }

  /// Finishes the operations and writes the lines that are due.
  void settle();
  void close();
  bool is_closed() const { return segments_.is_closed(); }

  /// One of the calls above has thrown std::bad_alloc: the events at work are lost.
  void note_memory_short() { account_.note_memory_short(); }

  /// The operations in flight for so long; Assembler::in_flight_since() says which are included.
  std::vector<assemble::InFlight> in_flight_for(std::int64_t least_ns) const {
    return assembler_.in_flight_since(now_ns() - least_ns);
  }
  /// The time of the last read_clocks().
  std::int64_t now_ns() const { return clock_.now_ns(); }
  /// Returns NULL if the context has no known communicator.
  const assemble::Communicator* find_communicator(std::uint32_t context) const {
    return assembler_.find_communicator(context);
  }

  /// As TraceSegments::make_snapshot().
  Result make_snapshot(exporting::TraceSnapshot& made) { return segments_.make_snapshot(made); }

  /// The number of operations in the records read so far. Only the drain thread calls it.
  std::uint64_t begun() const { return assembler_.next_operation() - 1; }
  /// The live metrics, from the last reading of the rings, as members of a reply
  /// (docs/dev/control-socket.md): by communicator, and if asked by series, too.
  std::string live_members(bool with_series) const;

  /// True if RINGSIDE_SAMPLE asks in vain for collectives to be sampled.
  bool cannot_sample() const;
  /// Returns a warning, each once; empty: none.
  std::string take_notice();

  // Any thread may call these functions.
  const std::string& path() const { return segments_.path(); }
  const std::string& directory() const { return segments_.directory(); }
  /// The process's facts; any thread may read job, host, process, run and the launcher's rank.
  const exporting::ProcessFacts& facts() const { return facts_; }
  const TraceFigures& figures() const { return figures_; }
  /// The number of callbacks that are neither in the files so far nor counted as lost.
  std::uint64_t callbacks_left() const { return TraceAccount::left(figures_); }
  /// Another number as long as the drain thread takes records or writes.
  std::uint64_t progress() const;

 private:
  std::uint64_t take_records(std::uint64_t until_ticks);
  bool make_room_in_journal();

  const config::Config& config_;
  exporting::ProcessFacts facts_;
  exporting::ProcessFacts facts_at_load_;  // with a journal, for announce()
  TraceFigures figures_;
  TraceClock clock_;
  // The stages, from the files back to the rings. A stage may refer to a later member, but does not
  // use it before all members are made.
  TraceSegments segments_;
  exporting::LiveMetrics metrics_;
  assemble::Assembler assembler_;
  RingReader reader_;
  TraceAccount account_;

  std::int64_t open_communicators_ = 0;
  std::int64_t next_settle_ns_ = 0;
  std::optional<assemble::ClockStep> step_to_warn_of_;
  bool notice_taken_ = false;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_WRITER_H
