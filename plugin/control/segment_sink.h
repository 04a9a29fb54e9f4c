// SPDX-License-Identifier: Apache-2.0
//
// Stands between the assembler and the trace: begins the next segment when one is full, which may
// only happen between two events (the lines of one stay together), and remembers what each segment
// must say anew; and adds what passes to the live metrics. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_CONTROL_SEGMENT_SINK_H
#define RINGSIDE_PLUGIN_CONTROL_SEGMENT_SINK_H

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugin/assemble/sink.h"
#include "plugin/control/operation_printer.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/segment_files.h"

namespace ringside::control {

class SegmentSink final : public assemble::Sink {
 public:
  using Communicators = std::function<const assemble::Communicator*(std::uint32_t context)>;

  /// `communicators` finds a communicator, NULL if there is none.
  SegmentSink(exporting::ChromeTrace& trace, exporting::SegmentFiles& files,
              exporting::LiveMetrics& metrics, std::function<void()> next_segment,
              Communicators communicators)
      : trace_(trace),
        files_(files),
        metrics_(metrics),
        next_segment_(std::move(next_segment)),
        communicators_(std::move(communicators)) {}

  /// Operations are printed, too.
  void print_with(OperationPrinter& printer) { printer_ = &printer; }
  void set_time(std::int64_t now_ns) { now_ns_ = now_ns; }
  /// A segment has begun: names the threads again. Communicators and GPU clocks are told again when
  /// the first event refers to them, so that a job that makes communicators for weeks does not make
  /// the first lines ever longer.
  void repeat();

  void operation(const assemble::Operation& operation, const assemble::Communicator& communicator,
                 const assemble::Tally& tally) override;
  void left_out(const assemble::Operation& operation,
                const assemble::Communicator& communicator) override {
    metrics_.add(operation, communicator);
  }
  void call(const assemble::Call& call, const assemble::Tally& tally) override;
  void proxy_op(const assemble::ProxyOpRow& row, const assemble::Tally& tally) override;
  void step(const assemble::StepRow& row, const assemble::Tally& tally) override;
  void kernel(const assemble::KernelRow& row, const assemble::Tally& tally) override;
  void control(const assemble::ControlRow& row, const assemble::Tally& tally) override;
  void net(const assemble::NetRow& row, const assemble::Tally& tally) override;
  void copy_engine(const assemble::CopyEngineRow& row, const assemble::Tally& tally) override;
  void mark(const assemble::Mark& mark) override;
  void thread(std::int32_t tid, std::string_view name) override;
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override;
  void complete_until(std::int64_t ts_ns) override;

 private:
  void before_event(std::uint32_t context) {
    if (files_.is_full(now_ns_)) {
      next_segment_();
    }
    if (context >= told_in_.size() || told_in_[context] != files_.number()) {
      tell(context);
    }
  }
  void tell(std::uint32_t context);

  exporting::ChromeTrace& trace_;
  exporting::SegmentFiles& files_;
  exporting::LiveMetrics& metrics_;
  const std::function<void()> next_segment_;
  const Communicators communicators_;
  OperationPrinter* printer_ = nullptr;
  std::int64_t now_ns_ = 0;
  std::deque<std::pair<std::int32_t, std::string>> threads_;   // the newest
  std::map<std::uint32_t, assemble::GpuClockFit> gpu_clocks_;  // by context
  std::vector<std::uint32_t> told_in_;  // segment in which a context was told last
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONTROL_SEGMENT_SINK_H
