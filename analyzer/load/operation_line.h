// SPDX-License-Identifier: Apache-2.0
//
// Reads the line of an operation.
#ifndef RINGSIDE_ANALYZER_LOAD_OPERATION_LINE_H
#define RINGSIDE_ANALYZER_LOAD_OPERATION_LINE_H

#include <optional>
#include <string>

#include "analyzer/load/event_parser.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// What one line says: the operation, and what it repeats of its communicator.
struct OperationLine {
  bool is_operation = false;  // false: a slice around an operation, without args.op
  model::Operation operation;
  std::optional<std::string> comm;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> nranks;
};

/// Reads an event with "ph":"b", "cat":"op" that has args. Fails where a key that every operation
/// has is absent, or a value cannot be what the format says.
Failure read_operation(EventParser& parser, const Event& event, model::NameTable& names,
                       OperationLine& line);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_OPERATION_LINE_H
