// SPDX-License-Identifier: Apache-2.0
//
// Builds one line of Chrome JSON and passes it to the sink. This class knows the members with which
// all lines of a kind begin, and how a line ends. Used by one thread: the drain thread, or a
// recovery.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_LINE_WRITER_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_LINE_WRITER_H

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/export/lines/json_text.h"

namespace ringside::exporting {

/// Takes the lines of a trace: a file, or memory.
class LineSink {
 public:
  /// Adds a line with its newline, and the callbacks that it stands for.
  virtual void add(std::string_view line, const assemble::Tally& tally) = 0;

 protected:
  LineSink() = default;
  LineSink(const LineSink&) = default;
  LineSink& operator=(const LineSink&) = default;
  ~LineSink() = default;
};

struct TextSink final : LineSink {
  std::string text;
  void add(std::string_view line, const assemble::Tally&) override { text.append(line); }
};

class LineWriter {
 public:
  explicit LineWriter(LineSink& sink) : sink_(sink) {}

  /// Sets the process that all lines name. `run_id` becomes part of the ids of arrows.
  void set_process(int pid, std::uint64_t run_id) {
    pid_ = pid;
    run_id_ = run_id;
  }
  int pid() const { return pid_; }
  /// Returns the id of the arrow from an operation's enqueue to its execution.
  std::uint64_t arrow_id(std::uint64_t operation) const { return (run_id_ << 32) | operation; }

  // Each of the next functions begins a line. The caller adds further members and calls end().

  /// Begins a metadata line, up to the first member of `args`. `before` is text in front of the
  /// line.
  JsonText& begin_metadata(std::string_view name, std::string_view before = {});
  JsonText& begin_slice(std::string_view category, std::string_view name, std::int32_t tid,
                        std::int64_t start_ns, std::int64_t end_ns);
  /// Begins the line that starts an asynchronous slice (`phase` is b). end_async() writes its other
  /// line.
  JsonText& begin_async(std::string_view category, std::string_view name, std::uint64_t id,
                        std::int32_t tid, std::int64_t ts_ns) {
    return begin_async_phase('b', category, name, id, tid, ts_ns);
  }
  JsonText& begin() {
    line_.clear();
    return line_;
  }

  /// Ends the line and its `args`, and passes it to the sink with the callbacks that it stands for.
  void end(const assemble::Tally& tally = {});
  void end_without_args();
  void end_async(std::string_view category, std::string_view name, std::uint64_t id,
                 std::int32_t tid, std::int64_t ts_ns);
  void end_file();

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

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_LINE_WRITER_H
