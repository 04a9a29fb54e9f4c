// SPDX-License-Identifier: Apache-2.0
//
// Reads the rows of the proxy thread: its operations and their steps. A row is two lines, and the
// one that ends it follows the one that begins it.
#ifndef RINGSIDE_ANALYZER_LOAD_ROW_LINES_H
#define RINGSIDE_ANALYZER_LOAD_ROW_LINES_H

#include "analyzer/load/event_parser.h"
#include "analyzer/load/part.h"

namespace ringside::load {

class RowReader {
 public:
  explicit RowReader(Part& part) : part_(part) {}

  /// Takes "ph":"b" of "cat":"proxy" or "step".
  Failure begin(EventParser& parser, const Event& event);

  /// Takes "ph":"e" of these: it ends the row that was begun last.
  void end(const Event& event);

  /// A bad line may have begun or ended a row: the next end is nobody's.
  void lose();

 private:
  Part& part_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_ROW_LINES_H
