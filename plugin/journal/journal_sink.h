// SPDX-License-Identifier: Apache-2.0
//
// Hands everything on to the trace, and tells the journal what was handed on.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_SINK_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_SINK_H

#include <new>

#include "plugin/assemble/sink.h"
#include "plugin/journal/journal.h"

namespace ringside::assemble {

class JournalSink final : public Sink {
 public:
  explicit JournalSink(Sink& trace) : trace_(trace) {}

  /// NULL, as at first: there is no journal.
  void set_journal(Journal* journal) { journal_ = journal; }

  /// Of the application, handed on so far.
  std::uint64_t marks() const { return marks_; }
  std::uint64_t ranges() const { return ranges_; }

  void operation(const Operation& operation, const Communicator& communicator,
                 const Tally& tally) override {
    trace_.operation(operation, communicator, tally);
    written(operation.kind == OperationKind::kApi ? operation.call_row | kWrittenApiOperation
                                                  : operation.number | kWrittenOperation);
  }
  void call(const Call& call, const Tally& tally) override {
    trace_.call(call, tally);
    written(call.id);
  }
  void proxy_op(const ProxyOpRow& row, const Tally& tally) override {
    trace_.proxy_op(row, tally);
    written(row.id);
  }
  void step(const StepRow& row, const Tally& tally) override {
    trace_.step(row, tally);
    written(row.id);
  }
  void kernel(const KernelRow& row, const Tally& tally) override {
    trace_.kernel(row, tally);
    written(row.id);
  }
  void control(const ControlRow& row, const Tally& tally) override {
    trace_.control(row, tally);
    written(row.id);
  }
  void net(const NetRow& row, const Tally& tally) override {
    trace_.net(row, tally);
    written(row.id);
  }
  void copy_engine(const CopyEngineRow& row, const Tally& tally) override {
    trace_.copy_engine(row, tally);
    written(row.id);
  }
  void left_out(const Operation& operation, const Communicator& communicator) override {
    trace_.left_out(operation, communicator);
  }
  void leave_out(std::uint64_t row) override {
    trace_.leave_out(row);
    written(row);
  }
  void mark(const Mark& mark) override {
    trace_.mark(mark);
    if (!mark.is_range) {
      ++marks_;
    } else if (mark.end_ns == kUnknownTime) {
      ++ranges_;  // it comes once more when it ends
    }
  }
  void thread(std::int32_t tid, std::string_view name) override { trace_.thread(tid, name); }
  void communicator(const Communicator& communicator) override {
    trace_.communicator(communicator);
    if (journal_ != nullptr) {
      journal_->note(communicator);
    }
  }
  void gpu_clock(std::uint32_t context, const GpuClockFit& fit) override {
    trace_.gpu_clock(context, fit);
    if (journal_ != nullptr) {
      journal_->note_gpu_clock(context, fit);
    }
  }
  void complete_until(std::int64_t ts_ns) override { trace_.complete_until(ts_ns); }

 private:
  // The row is in the trace, so the assembler must not write it again. Where memory is too short to
  // note it, it would be written twice if the process died now.
  void written(std::uint64_t row) {
    if (journal_ == nullptr) {
      return;
    }
    try {
      journal_->written(row);
    } catch (const std::bad_alloc&) {
    }
  }

  Sink& trace_;
  Journal* journal_ = nullptr;
  std::uint64_t marks_ = 0;
  std::uint64_t ranges_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_SINK_H
