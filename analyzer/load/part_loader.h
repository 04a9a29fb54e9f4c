// SPDX-License-Identifier: Apache-2.0
//
// Takes the lines of a part, one after the other.
#ifndef RINGSIDE_ANALYZER_LOAD_PART_LOADER_H
#define RINGSIDE_ANALYZER_LOAD_PART_LOADER_H

#include "analyzer/load/event_parser.h"
#include "analyzer/load/line_reader.h"
#include "analyzer/load/part.h"
#include "analyzer/load/row_lines.h"

namespace ringside::load {

class PartLoader {
 public:
  /// is_first: the part begins with the first line of the file, which describes the process.
  PartLoader(Part& part, bool is_first) : part_(part), rows_(part), is_first_(is_first) {}

  /// False where nothing more is to be read: the line was torn, or the file is no trace.
  bool take(const Line& line);

 private:
  Failure load_first(const Line& line);
  Failure load(const Line& line);
  Failure load_operation(const Event& event);

  EventParser parser_;
  Part& part_;
  RowReader rows_;
  bool is_first_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PART_LOADER_H
