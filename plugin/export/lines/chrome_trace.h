// SPDX-License-Identifier: Apache-2.0
//
// Writes a trace as Chrome trace lines (docs/trace-format.md). This class writes the lines that
// describe a process: its first line and its last, threads, communicators, clocks, windows and the
// account; and marks. Used by one thread.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_CHROME_TRACE_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_CHROME_TRACE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/assemble/account.h"
#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/assemble/sink.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/export/lines/row_lines.h"
#include "plugin/export/lines/row_names.h"
#include "plugin/record/clock.h"
#include "plugin/topology/machine.h"

namespace ringside::exporting {

/// The facts of the process in the first line of a trace. drain/process_info fills them in.
struct ProcessFacts {
  std::string plugin_version;
  std::uint64_t run_id = 0;
  std::string job, host, boot_id;
  int pid = 0;
  int launcher_rank = -1;  ///< -1: the launcher set none
  std::string launcher_rank_from;
  std::int64_t base_time_s = 0;
  std::int64_t start_ns = 0;
  std::uint32_t segment = 1;  ///< number of this file's segment, or of the oldest one in a dump
  std::int64_t segment_start_ns = 0;  ///< the file has nothing that was written earlier
  int nccl_version = 0;               ///< as ncclGetVersion gives it; 0: not known
  int abi_version = 0;
  std::string_view clock;
  std::vector<std::string_view> events;
  std::uint64_t sampled_of = 1;  ///< the trace has one of so many collectives
  std::vector<std::pair<std::string, std::string>> config;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Returns "2.29.7" for 22907.
std::string nccl_version_text(int version);

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

/// Writes the lines of a reading of the machine: its GPUs, and the ports of its network adapters.
/// All lines have `ts_ns`, by which a reader knows the lines of one reading.
void write_machine(LineWriter& lines, std::int64_t ts_ns, const topology::Machine& machine);

class ChromeTrace final : public assemble::Sink {
 public:
  explicit ChromeTrace(LineSink& file) : lines_(file) {}

  /// The first line, and Chrome's own lines that name the process.
  void begin(const ProcessFacts& facts, bool dump);
  /// Instead of begin: the file already holds the beginning of this trace.
  void resume(int pid, std::uint64_t run_id) { lines_.set_process(pid, run_id); }
  /// The last line and the closing bracket.
  void end(std::int64_t ts_ns, std::uint64_t operations, const TraceEnd& how = {});
  /// The first line with its newline. A dump has one of its own, and copies what follows this one.
  const std::string& first_line() const { return first_line_; }

  /// `step`: what this reading has shown, if anything.
  void clock(const record::ClockReading& reading, std::int64_t ts_ns,
             const assemble::ClockStep& step = {}, const record::RealtimeError& error = {});
  /// `repeated`: an earlier segment has this line and its mark, so the mark is not set again.
  void window(const Window& window, bool repeated = false);
  void account(const assemble::Account& account, std::int64_t ts_ns, bool final);
  /// A reading of the machine: a line for it, and one for each GPU and port.
  void machine(std::int64_t ts_ns, const topology::Machine& machine) {
    write_machine(lines_, ts_ns, machine);
  }
  /// A mark of the plugin's own, for the process as a whole.
  void mark_process(std::int64_t ts_ns, std::string_view text);

  void row(const assemble::Row& row, const assemble::Tally& tally) override;
  /// Writes what is known of a range so far; its row repeats it.
  void range_begins(const assemble::Mark& range) override;
  void thread(std::int32_t tid, std::string_view name) override;
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override;

 private:
  void write(const assemble::Mark& mark, const assemble::Tally& tally);
  void write_instant(const assemble::Mark& mark, const assemble::Tally& tally);
  void write_range(const assemble::Mark& mark, const assemble::Tally& tally);

  LineWriter lines_;
  RowNames names_;
  RowLines rows_{lines_, names_};
  std::string first_line_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_CHROME_TRACE_H
