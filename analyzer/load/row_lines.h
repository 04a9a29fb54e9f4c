// SPDX-License-Identifier: Apache-2.0
//
// Reads the rows of the proxy thread: its operations and their steps. A row is two lines, and the
// one that ends it follows the one that begins it.
#ifndef RINGSIDE_ANALYZER_LOAD_ROW_LINES_H
#define RINGSIDE_ANALYZER_LOAD_ROW_LINES_H

#include <cstdint>

#include "analyzer/load/event_parser.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

class RowReader {
 public:
  explicit RowReader(model::TraceFile& file) : file_(file) {}

  /// Takes "ph":"b" of "cat":"proxy" or "step".
  Failure begin(EventParser& parser, const Event& event);

  /// Takes "ph":"e" of these: it ends the row that was begun last.
  void end(const Event& event);

 private:
  enum class Open : std::uint8_t { kNone, kProxy, kStep };

  model::TraceFile& file_;
  Open open_ = Open::kNone;  // what was begun by the line before: the last of its kind
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_ROW_LINES_H
