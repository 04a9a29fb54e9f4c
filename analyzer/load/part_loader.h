// SPDX-License-Identifier: Apache-2.0
//
// Takes the lines of a part, one after the other.
#ifndef RINGSIDE_ANALYZER_LOAD_PART_LOADER_H
#define RINGSIDE_ANALYZER_LOAD_PART_LOADER_H

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/source/line_reader.h"
#include "analyzer/load/trace/operation_line.h"
#include "analyzer/load/trace/part.h"
#include "analyzer/load/trace/row_lines.h"

namespace ringside::load {

/// `part` stays where it is.
class PartLoader {
 public:
  /// is_first: the part begins with the first line of the file, which describes the process.
  PartLoader(Part& part, bool is_first);

  /// False where nothing more is to be read: the line was torn, or the file is no trace.
  bool take(const Line& line);

 private:
  Failure load_first(const Line& line);
  Failure load(const Line& line);
  Failure add_operation();

  // Takes the args of the lines that there are most of.
  struct Taker {
    bool takes(const Event& event);
    template <typename Value>
    simdjson::error_code operator()(std::string_view key, Value& value) {
      return is_row ? rows(key, value) : operation(key, value);
    }
    template <typename Visit>
    bool give(Visit visit) {
      return is_row ? visit(rows) : visit(operation);
    }

    OperationReader operation;
    RowReader rows;
    bool is_row = false;
  };

  EventParser parser_;
  Part& part_;
  Taker taker_;
  bool is_first_;
  model::Context* context_ = nullptr;  // of the last operation
  std::uint32_t context_number_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PART_LOADER_H
