// SPDX-License-Identifier: Apache-2.0
//
// Puts one line of Chrome JSON together and hands it on: the members that all lines of a kind begin
// with, and how a line ends. Used by the drain thread, and by whoever recovers a trace.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINE_WRITER_H
#define RINGSIDE_PLUGIN_EXPORT_LINE_WRITER_H

#include <cstdint>
#include <string_view>

#include "plugin/export/json_text.h"
#include "plugin/export/line_sink.h"

namespace ringside::exporting {

class LineWriter {
 public:
  explicit LineWriter(LineSink& sink) : sink_(sink) {}

  /// The process that all lines are of. `run_id` goes into the ids of arrows.
  void set_process(int pid, std::uint64_t run_id) {
    pid_ = pid;
    run_id_ = run_id;
  }
  int pid() const { return pid_; }
  /// The id of the arrow from an operation's enqueue to its execution.
  std::uint64_t arrow_id(std::uint64_t operation) const { return (run_id_ << 32) | operation; }

  // Each of these begins a line, whose further members the caller adds. end() ends it.

  /// A metadata line up to the first member of `args`. `before` stands in front of it.
  JsonText& begin_metadata(std::string_view name, std::string_view before = {});
  /// A slice of a thread.
  JsonText& begin_slice(std::string_view category, std::string_view name, std::int32_t tid,
                        std::int64_t start_ns, std::int64_t end_ns);
  /// The begin (`phase` is b) of an asynchronous slice, whose end is end_async().
  JsonText& begin_async(std::string_view category, std::string_view name, std::uint64_t id,
                        std::int32_t tid, std::int64_t ts_ns) {
    return begin_async_phase('b', category, name, id, tid, ts_ns);
  }
  /// A line of any other form.
  JsonText& begin() {
    line_.clear();
    return line_;
  }

  /// Ends the line and its `args`, and hands it on with the callbacks for which it stands.
  void end(const assemble::Tally& tally = {});
  /// Ends a line that has no `args`.
  void end_without_args();
  /// The whole line that ends an asynchronous slice.
  void end_async(std::string_view category, std::string_view name, std::uint64_t id,
                 std::int32_t tid, std::int64_t ts_ns);
  /// A whole counter line.
  void counter(std::string_view name, std::string_view unit, std::int64_t ts_ns, double value);
  /// The last line, and the closing bracket.
  void end_file();

  /// The line that was begun, or ended, last.
  JsonText& line() { return line_; }

 private:
  JsonText& begin_async_phase(char phase, std::string_view category, std::string_view name,
                              std::uint64_t id, std::int32_t tid, std::int64_t ts_ns);

  LineSink& sink_;
  JsonText line_;
  std::uint64_t run_id_ = 0;
  int pid_ = 0;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINE_WRITER_H
