// SPDX-License-Identifier: Apache-2.0
//
// Writes a trace as Chrome trace lines (docs/trace-format.md). Each kind of line has a class of its
// own. This class is what the assembler hands its rows to. Used by one thread.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_CHROME_TRACE_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_CHROME_TRACE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/assemble/sink.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/export/lines/machine_lines.h"
#include "plugin/export/lines/mark_lines.h"
#include "plugin/export/lines/operation_lines.h"
#include "plugin/export/lines/process_lines.h"
#include "plugin/export/lines/row_lines.h"
#include "plugin/export/lines/row_names.h"

namespace ringside::exporting {

class ChromeTrace final : public assemble::Sink {
 public:
  explicit ChromeTrace(LineSink& file) : lines_(file) {}

  /// The first line, and Chrome's own lines that name the process.
  void begin(const ProcessFacts& facts, bool dump) { process_.begin(facts, dump); }
  /// Instead of begin: the file already holds the beginning of this trace.
  void resume(int pid, std::uint64_t run_id) { lines_.set_process(pid, run_id); }
  /// The last line and the closing bracket.
  void end(std::int64_t ts_ns, std::uint64_t operations, const TraceEnd& how = {}) {
    process_.end(ts_ns, operations, how);
  }
  /// The first line with its newline. A dump copies what follows it.
  const std::string& first_line() const { return process_.first_line(); }

  /// `step`: what this reading has shown, if anything.
  void clock(const record::ClockReading& reading, std::int64_t ts_ns,
             const assemble::ClockStep& step = {}, const record::RealtimeError& error = {}) {
    process_.clock(reading, ts_ns, step, error);
  }
  /// `repeated`: an earlier segment has this line and its mark, so the mark is not set again.
  void window(const Window& window, bool repeated = false);
  void account(const assemble::Account& account, std::int64_t ts_ns, bool final) {
    process_.account(account, ts_ns, final);
  }
  /// A reading of the machine: a line for it, and one for each GPU and port.
  void machine(std::int64_t ts_ns, const topology::Machine& machine) {
    write_machine(lines_, ts_ns, machine);
  }
  /// A mark of the plugin's own, for the process as a whole.
  void mark_process(std::int64_t ts_ns, std::string_view text) {
    marks_.write_of_process(ts_ns, text);
  }

  void row(const assemble::Row& row, const assemble::Tally& tally) override;
  void range_begins(const assemble::Mark& range) override { marks_.describe(range); }
  void thread(std::int32_t tid, std::string_view name) override { process_.thread(tid, name); }
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override {
    process_.gpu_clock(context, fit);
  }

 private:
  LineWriter lines_;
  RowNames names_;
  ProcessLines process_{lines_};
  OperationLines operations_{lines_, names_};
  RowLines rows_{lines_, names_};
  MarkLines marks_{lines_};
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_CHROME_TRACE_H
