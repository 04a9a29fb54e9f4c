// SPDX-License-Identifier: Apache-2.0
//
// Reads the lines of a trace by docs/trace-format.md alone.
#ifndef RINGSIDE_TEST_LOAD_PLAIN_LINES_H
#define RINGSIDE_TEST_LOAD_PLAIN_LINES_H

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/model/trace.h"

namespace ringside::plain {

struct Event {
  std::string phase;
  std::string category;
  std::string name;
  std::optional<std::int64_t> ts_ns;
  std::optional<std::string> arguments;  // their JSON
};

/// Nothing if the text is no event.
std::optional<Event> event_of(std::string_view text);

/// Reads the lines behind the first, in their order.
class LineReader {
 public:
  LineReader(model::NameTable& names, model::TraceFile& file) : names_(names), file_(file) {}

  /// False if the line is bad; it has changed nothing then.
  bool read(const Event& event);
  /// True if the line read last was an operation that the file has already.
  bool has_repeated() const { return has_repeated_; }
  /// A line that could not be read may have begun or ended a row.
  void lose_row() { open_row_ = Row::kNone; }

 private:
  enum class Row { kNone, kProxy, kStep };

  bool read_operation(const std::string& arguments);
  bool begin_row(const Event& event);
  void end_row(const Event& event);

  model::NameTable& names_;
  model::TraceFile& file_;
  std::set<std::uint64_t> ids_;  // of operations
  bool has_repeated_ = false;
  Row open_row_ = Row::kNone;  // which the next "e" line of a row ends: the last of its kind
};

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_PLAIN_LINES_H
