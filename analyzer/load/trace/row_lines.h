// SPDX-License-Identifier: Apache-2.0
//
// Reads the rows of the proxy thread: its operations and their steps. A row is two lines, and the
// one that ends it follows the one that begins it.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_ROW_LINES_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_ROW_LINES_H

#include <cstdint>
#include <tuple>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/field_reader.h"
#include "analyzer/load/trace/part.h"

namespace ringside::load {

/// The args of an event with "ph":"b" and "cat":"proxy" or "step".
struct RowLine : model::Step {
  std::uint32_t steps = 0;  // of an operation
  std::int32_t foreign_pid = 0;
};

inline constexpr std::tuple kRowFields{Field{"context", &RowLine::context, Need::kRequired},
                                       Field{"op", &RowLine::operation},
                                       Field{"peer", &RowLine::peer},
                                       Field{"steps", &RowLine::steps},
                                       Field{"bytes", &RowLine::bytes},
                                       Field{"gpu_wait_ns", &RowLine::gpu_wait_ns},
                                       Field{"peer_wait_ns", &RowLine::peer_wait_ns},
                                       Field{"transfer_ns", &RowLine::transfer_ns},
                                       Field{"flush_ns", &RowLine::flush_ns},
                                       Field{"in_flight", &RowLine::in_flight},
                                       UnreadField{"step"},
                                       Field{"foreign_pid", &RowLine::foreign_pid}};

class RowReader : public FieldReader<RowLine, kRowFields> {
 public:
  explicit RowReader(Part& part) : FieldReader(&part.names), part_(part) {}

  /// After the last.
  Failure finish(const Event& event);

  /// Takes "ph":"e" of these: it ends the row that was begun last.
  void end(const Event& event);

  /// A bad line may have begun or ended a row: the next end is nobody's.
  void lose();

 private:
  Part& part_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_ROW_LINES_H
