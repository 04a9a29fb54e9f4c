// SPDX-License-Identifier: Apache-2.0
//
// The journal of this process's trace: its notes from before the trace begins, and its checkpoints,
// which say how far the trace's files have come.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_JOURNAL_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_JOURNAL_H

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugin/assemble/assembler.h"
#include "plugin/config/config.h"
#include "plugin/drain/trace_account.h"
#include "plugin/drain/trace_clock.h"
#include "plugin/export/lines/process_facts.h"
#include "plugin/export/segment_files.h"
#include "plugin/journal/journal.h"

namespace ringside::drain {

class TraceJournal {
 public:
  TraceJournal(const assemble::Assembler& assembler, const exporting::SegmentFiles& files,
               const TraceAccount& account, const TraceClock& clock)
      : assembler_(assembler), files_(files), account_(account), clock_(clock) {}

  /// Begins a journal in this zeroed memory. `facts` are the process's facts at load.
  void begin(void* memory, std::size_t bytes, const exporting::ProcessFacts& facts);
  /// Returns NULL if there is no journal.
  journal::Journal* get() { return journal_ ? &*journal_ : nullptr; }

  /// See TraceWriter::announce(). Any thread.
  void announce(const assemble::Communicator& communicator, const config::NcclFacts& nccl,
                std::uint32_t window, std::uint32_t types);

  // Only the drain thread calls these functions. Without a journal they do nothing.

  void note_window(std::uint32_t number, std::uint32_t types, std::int64_t start_ns) {
    if (journal_) {
      journal_->note_window(number, types, start_ns);
    }
  }
  /// Writes a checkpoint. All lines given to the trace's files must be written, or counted as lost.
  void checkpoint();
  /// Makes room for any record. Throws std::bad_alloc.
  void make_room();

 private:
  void note_begin(const config::NcclFacts& nccl, std::uint32_t window, std::uint32_t types,
                  std::int64_t now_ns);
  void answer(std::span<assemble::Question> asked) const { assembler_.answer(asked); }

  const assemble::Assembler& assembler_;
  const exporting::SegmentFiles& files_;
  const TraceAccount& account_;
  const TraceClock& clock_;
  std::optional<journal::Journal> journal_;
  exporting::ProcessFacts facts_;  // those at load, until the trace begins
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_JOURNAL_H
