// SPDX-License-Identifier: Apache-2.0
//
// One event as the rules see it.
#ifndef RINGSIDE_ANALYZER_LINT_EVENT_H
#define RINGSIDE_ANALYZER_LINT_EVENT_H

#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string_view>

#include "analyzer/lint/json_scan.h"
#include "analyzer/load/json/dom_value.h"

namespace ringside::lint {

/// Views are valid until the next line is parsed. A member that is absent or has the wrong type is
/// empty.
struct Event {
  std::uint64_t line = 0;
  simdjson::dom::object object;
  std::optional<simdjson::dom::object> arguments;
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view id;       // of an async slice
  std::string_view bind_id;  // of a flow
  std::int64_t pid = -1;
  std::int64_t tid = -1;
  std::optional<std::int64_t> ts_ns;
  std::optional<std::int64_t> dur_ns;
  JsonScan scan;
  bool is_merged = false;   // of a file of `ringside merge`
  bool is_foreign = false;  // of another profiler's process, in such a file
};

using load::integer_at;
using load::text_at;

inline bool is_true_at(const simdjson::dom::object& object, std::string_view key) {
  bool value = false;
  return object[key].get_bool().get(value) == simdjson::SUCCESS && value;
}

inline bool has(const simdjson::dom::object& object, std::string_view key) {
  return object[key].error() == simdjson::SUCCESS;
}

/// True of the end of a trace for which a recovery had not all lines: its process lives, or its
/// file was gone or too short.
inline bool is_of_part(const simdjson::dom::object& end) {
  return is_true_at(end, "recovered") && (has(end, "silent_ns") || !has(end, "marks_lost"));
}

/// True if it is the line of an operation.
inline bool is_operation(const Event& event) {
  return (event.phase == "b" || (event.is_merged && event.phase == "X")) &&
         event.category == "op" && event.arguments && has(*event.arguments, "op");
}

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_EVENT_H
