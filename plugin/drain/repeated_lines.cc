// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/repeated_lines.h"

#include <iterator>

namespace ringside::drain {
namespace {

// These limits bound a segment's first lines, and memory, in a job that makes threads, and starts
// and stops recording, for weeks.
constexpr std::size_t kMostThreads = 500;
constexpr std::size_t kMostWindows = 200;
constexpr std::size_t kMostWindowsRepeated = 100;

}  // namespace

void RepeatedLines::thread(std::int32_t tid, std::string_view name) {
  threads_.emplace_back(tid, name);
  if (threads_.size() > kMostThreads) {
    threads_.pop_front();
  }
  trace_.thread(tid, name);
}

void RepeatedLines::communicator(const assemble::Communicator& communicator) {
  trace_.communicator(communicator);
  note_written(communicator.context);
}

void RepeatedLines::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  write(context);
  trace_.gpu_clock(context, fit);
}

void RepeatedLines::machine(std::int64_t ts_ns, topology::Machine machine) {
  trace_.machine(ts_ns, machine);
  if (machines_.size() == 2) {
    machines_.erase(std::prev(machines_.end()));
  }
  machines_.insert_or_assign(ts_ns, std::move(machine));
}

void RepeatedLines::open_window(const exporting::Window& window) {
  if (windows_.size() == kMostWindows) {
    windows_.erase(windows_.begin());
  }
  windows_.push_back(window);
}

void RepeatedLines::write_first(exporting::ChromeTrace& trace) const {
  const std::size_t windows = windows_.size();
  for (std::size_t i = windows > kMostWindowsRepeated ? windows - kMostWindowsRepeated : 0;
       i < windows; ++i) {
    trace.window(windows_[i], true);
  }
  for (const auto& [tid, name] : threads_) {
    trace.thread(tid, name);
  }
  for (const auto& [ts_ns, machine] : machines_) {
    trace.machine(ts_ns, machine);
  }
}

void RepeatedLines::write_lost() {
  has_lost_ = false;
  write_first(trace_);
  for (std::uint32_t context = 1; context < written_in_.size(); ++context) {
    write(context);
  }
}

void RepeatedLines::note_written(std::uint32_t context) {
  if (context >= written_in_.size()) {
    written_in_.resize(context + 1, 1);  // in round 1, lines are written as they come
  }
  written_in_[context] = round_;
}

void RepeatedLines::write(std::uint32_t context) {
  if ((context < written_in_.size() ? written_in_[context] : 1) == round_) {
    return;
  }
  if (const assemble::Communicator* known = assembler_.find_communicator(context);
      known != nullptr) {
    trace_.communicator(*known);
  }
  const auto& gpu_clocks = assembler_.gpu_clocks();
  if (const auto fit = gpu_clocks.find(context); fit != gpu_clocks.end()) {
    trace_.gpu_clock(context, fit->second);
  }
  note_written(context);
}

}  // namespace ringside::drain
