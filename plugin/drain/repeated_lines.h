// SPDX-License-Identifier: Apache-2.0
//
// The lines that every segment of a trace needs, although they were written once: windows, names of
// threads, communicators and GPU clocks. They are written again in each segment, and after a write
// that failed. Used by the drain thread.
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
#include "plugin/export/chrome_trace.h"

namespace ringside::control {

/// NULL if it is not known.
const assemble::Communicator* find_communicator(const assemble::Assembler& assembler,
                                                std::uint32_t context);

class RepeatedLines {
 public:
  RepeatedLines(exporting::ChromeTrace& trace, const assemble::Assembler& assembler)
      : trace_(trace), assembler_(assembler) {}

  // Each of these writes its line and keeps what it takes to write it again.
  void thread(std::int32_t tid, std::string_view name);
  void communicator(const assemble::Communicator& communicator);
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit);

  /// Keeps a window, which has no line yet.
  void open_window(const exporting::Window& window);
  /// The newest ones, in order.
  std::vector<exporting::Window>& windows() { return windows_; }
  const std::vector<exporting::Window>& windows() const { return windows_; }

  /// What the first lines of a segment, or of a dump, need.
  void write_windows(exporting::ChromeTrace& trace) const;
  void write_threads(exporting::ChromeTrace& trace) const;

  /// A segment begins. Communicators and GPU clocks are written again when the first event refers
  /// to them, so that a job that makes communicators for weeks does not make the first lines ever
  /// longer.
  void begin_segment() { ++round_; }
  /// An event of this communicator (0: of none) comes next.
  void before_event(std::uint32_t context) {
    if (context >= written_in_.size() || written_in_[context] != round_) {
      write(context);
    }
  }

  /// All lines so far are in the file.
  void note_stored() { unstored_.clear(); }
  /// The lines since the last note_stored() are lost.
  void note_lost();
  bool has_lost() const { return has_lost_; }
  /// Writes again what was lost and no event may refer to any more.
  void write_lost();

 private:
  void write(std::uint32_t context);
  void note_written(std::uint32_t context);

  exporting::ChromeTrace& trace_;
  const assemble::Assembler& assembler_;
  std::vector<exporting::Window> windows_;
  std::deque<std::pair<std::int32_t, std::string>> threads_;   // the newest
  std::map<std::uint32_t, assemble::GpuClockFit> gpu_clocks_;  // by context
  std::uint32_t round_ = 1;                // goes up when communicators must be written again
  std::vector<std::uint32_t> written_in_;  // by context, in which round it was written last
  std::vector<std::uint32_t> unstored_;    // contexts, written since the last note_stored()
  std::vector<std::uint32_t> lost_;        // contexts that note_lost() found in unstored_
  bool has_lost_ = false;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_REPEATED_LINES_H
