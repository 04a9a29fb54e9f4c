// SPDX-License-Identifier: Apache-2.0
//
// Hands everything on to the trace, and tells the journal what was handed on.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_SINK_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_SINK_H

#include <new>

#include "plugin/assemble/sink.h"
#include "plugin/journal/journal.h"

namespace ringside::journal {

class JournalSink final : public assemble::Sink {
 public:
  explicit JournalSink(assemble::Sink& trace) : trace_(trace) {}

  /// NULL, as at first: there is no journal.
  void set_journal(Journal* journal) { journal_ = journal; }

  void row(const assemble::Row& row, const assemble::Tally& tally) override {
    trace_.row(row, tally);
    note_row(row);
  }
  void sampled_out(const assemble::Row& row) override {
    trace_.sampled_out(row);
    note_row(row);
  }
  void stale(const assemble::RecordView& view) override {
    note(assemble::row_id(view.id) | assemble::kStaleKey);
  }
  void range_begins(const assemble::Mark& range) override { trace_.range_begins(range); }
  void thread(std::int32_t tid, std::string_view name) override { trace_.thread(tid, name); }
  void communicator(const assemble::Communicator& communicator) override {
    trace_.communicator(communicator);
    if (journal_ != nullptr) {
      journal_->note(communicator);
    }
  }
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override {
    trace_.gpu_clock(context, fit);
    if (journal_ != nullptr) {
      journal_->note_gpu_clock(context, fit);
    }
  }

 private:
  void note_row(const assemble::Row& row) { note(assemble::row_key(row)); }
  // The row is done with, so a recovery must not write it. If memory is too short to note this, a
  // recovery writes the row twice when the process dies now.
  void note(std::uint64_t key) {
    if (journal_ == nullptr) {
      return;
    }
    try {
      journal_->written(key);
    } catch (const std::bad_alloc&) {
    }
  }

  assemble::Sink& trace_;
  Journal* journal_ = nullptr;
};

}  // namespace ringside::journal

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_SINK_H
