// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/segment_sink.h"

#include <algorithm>

namespace ringside::control {
namespace {

// A process in which threads come and go for weeks must not make the first lines ever longer.
constexpr std::size_t kMostThreads = 500;
constexpr std::size_t kMostGpuClocks = 500;

}  // namespace

void SegmentSink::repeat_threads(exporting::ChromeTrace& trace) const {
  for (const auto& [tid, name] : threads_) {
    trace.thread(tid, name);
  }
}

void SegmentSink::lost() {
  tell_all_again();
  if (!unstored_.empty()) {
    lost_.insert(lost_.end(), unstored_.begin(), unstored_.end());
    unstored_.clear();
    std::sort(lost_.begin(), lost_.end());
    lost_.erase(std::unique(lost_.begin(), lost_.end()), lost_.end());
  }
}

void SegmentSink::tell_lost() {
  repeat_threads(trace_);
  for (const std::uint32_t context : std::exchange(lost_, {})) {
    tell(context);
  }
}

void SegmentSink::note_told(std::uint32_t context) {
  if (context >= told_in_.size()) {
    told_in_.resize(context + 1, 1);  // at first all is told when it becomes known
  }
  unstored_.push_back(context);
  told_in_[context] = told_;
}

void SegmentSink::tell(std::uint32_t context) {
  if ((context < told_in_.size() ? told_in_[context] : 1) == told_) {
    return;
  }
  if (const assemble::Communicator* known = communicators_(context); known != nullptr) {
    trace_.communicator(*known);
  }
  if (const auto fit = gpu_clocks_.find(context); fit != gpu_clocks_.end()) {
    trace_.gpu_clock(context, fit->second);
  }
  note_told(context);
}

void SegmentSink::row(const assemble::Row& row, const assemble::Tally& tally) {
  const bool is_written =
      write_event(assemble::context_of(row), tally, [&] { trace_.row(row, tally); });
  const auto* const of = std::get_if<assemble::OperationRow>(&row);
  if (of == nullptr) {
    return;
  }
  if (is_written) {
    files_.count_operation();
  }
  count_if_memory([&] {
    if (printer_ != nullptr) {
      printer_->add(*of->operation, *of->communicator);
    }
    if (!of->operation->in_flight) {
      metrics_.add(*of->operation, *of->communicator);
    }
  });
}

void SegmentSink::sampled_out(const assemble::Row& row) {
  if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
    count_if_memory([&] { metrics_.add(*of->operation, *of->communicator); });
  }
}

void SegmentSink::mark(const assemble::Mark& mark) {
  const bool is_ended = mark.is_range && mark.end_ns != assemble::kUnknownTime;
  const assemble::Tally tally{.marks = !mark.is_range && mark.number != 0 ? 1U : 0U,
                              .ranges = is_ended ? 1U : 0U};
  write_event(0, tally, [&] { trace_.mark(mark); });
}

void SegmentSink::thread(std::int32_t tid, std::string_view name) {
  threads_.emplace_back(tid, name);
  if (threads_.size() > kMostThreads) {
    threads_.pop_front();
  }
  trace_.thread(tid, name);
}

void SegmentSink::communicator(const assemble::Communicator& communicator) {
  trace_.communicator(communicator);
  note_told(communicator.context);
}

void SegmentSink::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  tell(context);
  unstored_.push_back(context);
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
