// SPDX-License-Identifier: Apache-2.0
#include "plugin/control/segment_sink.h"

namespace ringside::control {
namespace {

// A process in which threads come and go for weeks must not make the first lines ever longer.
constexpr std::size_t kMostThreads = 500;
constexpr std::size_t kMostGpuClocks = 500;

}  // namespace

void SegmentSink::repeat() {
  for (const auto& [tid, name] : threads_) {
    trace_.thread(tid, name);
  }
}

void SegmentSink::tell(std::uint32_t context) {
  if (context >= told_in_.size()) {
    told_in_.resize(context + 1, 1);  // in the first segment all is told when it becomes known
  }
  if (told_in_[context] == files_.number()) {
    return;
  }
  told_in_[context] = files_.number();
  if (const assemble::Communicator* known = communicators_(context); known != nullptr) {
    trace_.communicator(*known);
  }
  if (const auto fit = gpu_clocks_.find(context); fit != gpu_clocks_.end()) {
    trace_.gpu_clock(context, fit->second);
  }
}

void SegmentSink::operation(const assemble::Operation& operation,
                            const assemble::Communicator& communicator,
                            const assemble::Tally& tally) {
  before_event(operation.context);
  trace_.operation(operation, communicator, tally);
  files_.count_operation();
  if (printer_ != nullptr) {
    printer_->add(operation, communicator);
  }
  if (!operation.in_flight) {
    metrics_.add(operation, communicator);
  }
}

void SegmentSink::call(const assemble::Call& call, const assemble::Tally& tally) {
  before_event(call.context);
  trace_.call(call, tally);
}

void SegmentSink::proxy_op(const assemble::ProxyOpRow& row, const assemble::Tally& tally) {
  before_event(row.context);
  trace_.proxy_op(row, tally);
}

void SegmentSink::step(const assemble::StepRow& row, const assemble::Tally& tally) {
  before_event(row.context);
  trace_.step(row, tally);
}

void SegmentSink::kernel(const assemble::KernelRow& row, const assemble::Tally& tally) {
  before_event(row.context);
  trace_.kernel(row, tally);
}

void SegmentSink::control(const assemble::ControlRow& row, const assemble::Tally& tally) {
  before_event(row.context);
  trace_.control(row, tally);
}

void SegmentSink::net(const assemble::NetRow& row, const assemble::Tally& tally) {
  before_event(row.context);
  trace_.net(row, tally);
}

void SegmentSink::copy_engine(const assemble::CopyEngineRow& row, const assemble::Tally& tally) {
  before_event(row.context);
  trace_.copy_engine(row, tally);
}

void SegmentSink::mark(const assemble::Mark& mark) {
  before_event(0);
  trace_.mark(mark);
}

void SegmentSink::thread(std::int32_t tid, std::string_view name) {
  threads_.emplace_back(tid, name);
  if (threads_.size() > kMostThreads) {
    threads_.pop_front();
  }
  trace_.thread(tid, name);
}

void SegmentSink::communicator(const assemble::Communicator& communicator) {
  if (communicator.context >= told_in_.size()) {
    told_in_.resize(communicator.context + 1, 1);
  }
  told_in_[communicator.context] = files_.number();
  trace_.communicator(communicator);
}

void SegmentSink::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  tell(context);
  gpu_clocks_[context] = fit;
  if (gpu_clocks_.size() > kMostGpuClocks) {
    gpu_clocks_.erase(gpu_clocks_.begin());
  }
  trace_.gpu_clock(context, fit);
}

void SegmentSink::complete_until(std::int64_t ts_ns) {
  before_event(0);
  trace_.complete_until(ts_ns);
}

}  // namespace ringside::control
