// SPDX-License-Identifier: Apache-2.0
//
// Stands between the assembler and the trace: has the trace written and the next segment begun when
// there is much to write, which may only happen between two events (the lines of one stay
// together); remembers what must be told again in each segment, and after a write that failed; and
// adds what passes to the live metrics. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_SEGMENT_SINK_H
#define RINGSIDE_PLUGIN_DRAIN_SEGMENT_SINK_H

#include <deque>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "plugin/assemble/sink.h"
#include "plugin/doors/operation_printer.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/segment_files.h"

namespace ringside::control {

class SegmentSink final : public assemble::Sink {
 public:
  using Communicators = std::function<const assemble::Communicator*(std::uint32_t context)>;

  /// `communicators` finds a communicator, NULL if there is none.
  SegmentSink(exporting::ChromeTrace& trace, exporting::SegmentFiles& files,
              exporting::LiveMetrics& metrics, std::function<void()> make_room,
              Communicators communicators)
      : trace_(trace),
        files_(files),
        metrics_(metrics),
        make_room_(std::move(make_room)),
        communicators_(std::move(communicators)) {}

  /// Operations are printed, too.
  void print_with(OperationPrinter& printer) { printer_ = &printer; }
  void set_time(std::int64_t now_ns) { now_ns_ = now_ns; }
  /// Names the threads again, in the first lines of a segment.
  void repeat_threads(exporting::ChromeTrace& trace) const;
  /// What follows does not have what was told so far. Communicators and GPU clocks are told again
  /// when the first event refers to them, so that a job that makes communicators for weeks does not
  /// make the first lines ever longer.
  void tell_all_again() { ++told_; }

  /// All that was told is in the file.
  void stored() { unstored_.clear(); }
  /// What was told since the last stored() is lost.
  void lost();
  /// Tells what was lost and no event may refer to any more.
  void tell_lost();

  void row(const assemble::Row& row, const assemble::Tally& tally) override;
  void sampled_out(const assemble::Row& row) override;
  void mark(const assemble::Mark& mark) override;
  void thread(std::int32_t tid, std::string_view name) override;
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override;
  void complete_until(std::int64_t ts_ns) override;

 private:
  void before_event(std::uint32_t context) {
    if (files_.has_much() || files_.is_full(now_ns_)) {
      make_room_();
    }
    if (context >= told_in_.size() || told_in_[context] != told_) {
      tell(context);
    }
  }
  /// Has the lines of an event added. Where memory is too short for all of them there are none, and
  /// it is counted as lost: the assembler must not take it for one that is still to be written.
  template <typename Write>
  bool write_event(std::uint32_t context, const assemble::Tally& tally, Write write) {
    try {
      files_.begin_event();
      before_event(context);
      files_.begin_event();
      write();
      return true;
    } catch (const std::bad_alloc&) {
      files_.drop_event(tally);
      return false;
    }
  }
  /// For what counts operations beside the trace. Where memory is too short, an operation lacks
  /// there, but the assembler must not hand it over again.
  template <typename Count>
  static void count_if_memory(Count count) {
    try {
      count();
    } catch (const std::bad_alloc&) {
    }
  }
  void tell(std::uint32_t context);
  void note_told(std::uint32_t context);

  exporting::ChromeTrace& trace_;
  exporting::SegmentFiles& files_;
  exporting::LiveMetrics& metrics_;
  const std::function<void()> make_room_;
  const Communicators communicators_;
  OperationPrinter* printer_ = nullptr;
  std::int64_t now_ns_ = 0;
  std::deque<std::pair<std::int32_t, std::string>> threads_;   // the newest
  std::map<std::uint32_t, assemble::GpuClockFit> gpu_clocks_;  // by context
  std::uint32_t told_ = 1;               // goes up when all must be told again
  std::vector<std::uint32_t> told_in_;   // by context, told_ when it was told last
  std::vector<std::uint32_t> unstored_;  // contexts that were told since the last stored()
  std::vector<std::uint32_t> lost_;      // contexts that lost() found told and not stored
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_SEGMENT_SINK_H
