// SPDX-License-Identifier: Apache-2.0
//
// Makes the account of all callbacks, from the counters of the rings, the assembler and the trace's
// files. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_ACCOUNT_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_ACCOUNT_H

#include <cstdint>

#include "plugin/assemble/account.h"
#include "plugin/assemble/assembler.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/segment_files.h"
#include "plugin/journal/journal_format.h"

namespace ringside::drain {

/// Figures of the trace that any thread may read while the drain thread writes them. Each figure is
/// independent of the others, but a thread that sees has_file must find the file.
struct TraceFigures {
  std::atomic<bool> has_file{false};
  std::atomic<bool> trouble{false};
  std::atomic<int> last_error{0};
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> captured{0}, replayed{0};  ///< of these in CUDA graphs, as far as seen
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> bytes_kept{0};  ///< in all existing files of this trace, or in memory
  std::atomic<std::uint64_t> rotated{0};     ///< callbacks in segments that are deleted
  std::atomic<std::uint64_t> given_up{0};    ///< evicted events
  /// Callbacks lost after they left the rings: a file not writable, or out of memory.
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> settled{0};  ///< callbacks that are in the files, or counted as lost

  /// A file could not be made or written.
  void fail(int error) {
    last_error.store(error, std::memory_order_relaxed);
    trouble.store(true, std::memory_order_relaxed);
  }
};

class TraceAccount {
 public:
  TraceAccount(const assemble::Assembler& assembler, const exporting::SegmentFiles& files)
      : assembler_(assembler), files_(files) {}

  /// `final`: the assembler keeps no event any more.
  assemble::Account make(bool final) const;
  /// The number of callbacks that were taken from the rings.
  std::uint64_t consumed() const;

  /// These functions write the same counts for the journal, and for any thread.
  void count(journal::Checkpoint& made) const;
  void count(TraceFigures& figures) const;

  /// The callbacks of all types together, as far as their own threads have counted them. Any
  /// thread.
  static assemble::TypeAccount of_threads();
  /// The number of callbacks that were neither written nor counted as lost when these figures were
  /// made. Any thread.
  static std::uint64_t left(const TraceFigures& figures);

  /// A step of the drain thread has thrown std::bad_alloc: the events at work are lost.
  void note_memory_short() { memory_was_short_ = true; }
  /// Makes the end of the trace, with the counts of lost marks and ranges.
  exporting::TraceEnd end_of_trace() const;

 private:
  assemble::TypeAccount taken(std::size_t type) const;

  const assemble::Assembler& assembler_;
  const exporting::SegmentFiles& files_;
  bool memory_was_short_ = false;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_ACCOUNT_H
