// SPDX-License-Identifier: Apache-2.0
//
// The journal of this process's trace: what is noted in it before the trace begins, and its
// checkpoints, which say how far the trace's files have got.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_JOURNAL_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_JOURNAL_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "plugin/assemble/assembler.h"
#include "plugin/config/config.h"
#include "plugin/drain/trace_account.h"
#include "plugin/drain/trace_clock.h"
#include "plugin/export/process_facts.h"
#include "plugin/export/segment_files.h"
#include "plugin/journal/journal.h"
#include "plugin/journal/journal_sink.h"

namespace ringside::control {

class TraceJournal {
 public:
  TraceJournal(assemble::Sink& lines, const assemble::Assembler& assembler,
               const exporting::SegmentFiles& files, const TraceAccount& account,
               const TraceClock& clock)
      : sink_(lines), assembler_(assembler), files_(files), account_(account), clock_(clock) {}

  /// Keeps a journal in this zeroed memory. `facts` are those at load.
  void begin(void* memory, std::size_t bytes, const exporting::ProcessFacts& facts);
  /// NULL if none is kept.
  assemble::Journal* get() { return journal_ ? &*journal_ : nullptr; }
  /// Hands rows on to the trace, and notes them.
  assemble::JournalSink& sink() { return sink_; }

  /// As TraceWriter's; any thread.
  void announce(const assemble::Communicator& communicator, const NcclFacts& nccl,
                std::uint32_t window, std::uint32_t types);
  /// As TraceWriter's; any thread, but one at a time.
  void count_mark(bool is_range, bool is_lost);

  // The drain thread's. Without a journal they do nothing.

  void note_window(const assemble::WindowNoteData& window) {
    if (journal_) {
      journal_->note(window);
    }
  }
  /// All that was handed to the trace's files is written, or counted as lost.
  void checkpoint();
  /// Any record has room after this. Throws std::bad_alloc.
  void make_room();

 private:
  void answer(std::span<assemble::Question> asked) const { assembler_.answer(asked); }

  assemble::JournalSink sink_;
  const assemble::Assembler& assembler_;
  const exporting::SegmentFiles& files_;
  const TraceAccount& account_;
  const TraceClock& clock_;
  std::optional<assemble::Journal> journal_;
  exporting::ProcessFacts facts_;  // as at load
  /// Marks and ranges that were made, and lost, before there was a journal.
  std::array<std::array<std::uint64_t, 2>, 2> early_counts_{};
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_JOURNAL_H
