// SPDX-License-Identifier: Apache-2.0
//
// Reads members of a parsed JSON object that may hold anything. An absent member, or one of another
// type, is reported as absent and is no error. Views are valid until the parser reads on.
#ifndef RINGSIDE_ANALYZER_LOAD_DOM_VALUE_H
#define RINGSIDE_ANALYZER_LOAD_DOM_VALUE_H

#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string_view>

namespace ringside::load {

inline std::optional<std::int64_t> integer_at(const simdjson::dom::object& object,
                                              std::string_view key) {
  std::int64_t value = 0;
  return object[key].get_int64().get(value) == simdjson::SUCCESS ? std::optional(value)
                                                                 : std::nullopt;
}

inline std::string_view text_at(const simdjson::dom::object& object, std::string_view key) {
  std::string_view value;
  return object[key].get_string().get(value) == simdjson::SUCCESS ? value : std::string_view();
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DOM_VALUE_H
