// SPDX-License-Identifier: Apache-2.0
//
// The lines that every segment of a trace needs, although they were written once: windows, names of
// threads, communicators and GPU clocks. A new segment gets them again, and so does the trace after
// a failed write. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_REPEATED_LINES_H
#define RINGSIDE_PLUGIN_DRAIN_REPEATED_LINES_H

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/topology/machine.h"

namespace ringside::drain {

class RepeatedLines {
 public:
  RepeatedLines(exporting::ChromeTrace& trace, const assemble::Assembler& assembler)
      : trace_(trace), assembler_(assembler) {}

  // Each of these functions writes a line, and keeps what is needed to write it again.
  void thread(std::int32_t tid, std::string_view name);
  void communicator(const assemble::Communicator& communicator);
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit);

  /// A reading of the machine, by the time at which it came. The first and the last are kept.
  void machine(std::int64_t ts_ns, topology::Machine machine);

  /// Keeps a window, without writing its line.
  void open_window(const exporting::Window& window);
  /// The newest windows, in order.
  std::vector<exporting::Window>& windows() { return windows_; }
  const std::vector<exporting::Window>& windows() const { return windows_; }

  /// Writes windows, names of threads, and machines: into the first lines of a segment or dump.
  void write_first(exporting::ChromeTrace& trace) const;

  /// A segment begins. Communicators and GPU clocks are written again before the first event that
  /// refers to them. So the first lines do not grow where a job makes communicators for weeks.
  void begin_segment() { ++round_; }
  /// The next event is of this communicator (0: none).
  void before_event(std::uint32_t context) {
    if (context >= written_in_.size() || written_in_[context] != round_) {
      write(context);
    }
  }

  /// Some of the lines so far are lost.
  void note_lost() {
    has_lost_ = true;
    ++round_;
  }
  bool has_lost() const { return has_lost_; }
  /// Writes all lines again, also those that no later event would cause to be written.
  void write_lost();

 private:
  void write(std::uint32_t context);
  void note_written(std::uint32_t context);

  exporting::ChromeTrace& trace_;
  const assemble::Assembler& assembler_;
  std::vector<exporting::Window> windows_;
  std::deque<std::pair<std::int32_t, std::string>> threads_;  // the newest threads
  std::map<std::int64_t, topology::Machine> machines_;        // by time: the first and the last
  std::uint32_t round_ = 1;                // goes up when communicators must be written again
  std::vector<std::uint32_t> written_in_;  // by context, the round of its last line
  bool has_lost_ = false;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_REPEATED_LINES_H
