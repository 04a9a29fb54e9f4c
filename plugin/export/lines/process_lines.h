// SPDX-License-Identifier: Apache-2.0
//
// The lines that describe a process: its first line and its last, threads, communicators, clocks,
// windows and the account (docs/trace-format.md).
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_PROCESS_LINES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_PROCESS_LINES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/assemble/account.h"
#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/assemble/clocks/gpu_clock.h"
#include "plugin/assemble/rows.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/export/lines/process_facts.h"
#include "plugin/record/clock.h"

namespace ringside::exporting {

struct TraceEnd {
  std::uint32_t next_segment = 0;  ///< the number of the segment that goes on; 0: none does
  bool recovered = false;          ///< `ringside recover` wrote this end, not the process
  /// If the process still runs: the time from its last sign of life to the reading of its rings.
  std::optional<std::int64_t> silent_ns = std::nullopt;
  /// How many of the application's marks and ranges are not in the trace, since the process began.
  /// When the process itself ends the trace, a count of 0 is not written. In a recovered trace, a
  /// count that is missing is not known.
  std::optional<std::uint64_t> marks_lost = std::nullopt, ranges_lost = std::nullopt;

  void count_lost(const assemble::Account& account);
};

/// A window: from a start to a stop, with the event types recorded in between.
struct Window {
  std::uint32_t number;
  std::int64_t start_ns;
  std::int64_t end_ns = assemble::kUnknownTime;      ///< unknown: the window is open
  std::int64_t changed_ns = assemble::kUnknownTime;  ///< when `events` were last changed
  bool mask_changed = false;  ///< it ended because other code changed NCCL's activation mask
  std::vector<std::string_view> events;
};

class ProcessLines {
 public:
  explicit ProcessLines(LineWriter& lines) : lines_(lines) {}

  /// Writes the first line, and Chrome's own lines that name the process.
  void begin(const ProcessFacts& facts, bool dump);
  void end(std::int64_t ts_ns, std::uint64_t operations, const TraceEnd& how);
  /// The first line with its newline. A dump has a first line of its own and copies the lines that
  /// follow.
  const std::string& first_line() const { return first_line_; }

  void thread(std::int32_t tid, std::string_view name);
  void communicator(const assemble::Communicator& communicator);
  /// `step`: what this reading has shown; its size is 0 if there was none.
  void clock(const record::ClockReading& reading, std::int64_t ts_ns,
             const assemble::ClockStep& step, const record::RealtimeError& error);
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit);
  void window(const Window& window);
  void account(const assemble::Account& account, std::int64_t ts_ns, bool final);

 private:
  LineWriter& lines_;
  std::string first_line_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_PROCESS_LINES_H
