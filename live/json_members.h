// SPDX-License-Identifier: Apache-2.0
//
// Members of an answer, which may be anybody's.
#ifndef RINGSIDE_LIVE_JSON_MEMBERS_H
#define RINGSIDE_LIVE_JSON_MEMBERS_H

#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>

namespace ringside::live {

using JsonObject = simdjson::dom::object;

/// False if there is no such member of this type: `value` stays as it is.
template <typename Value>
bool take(const JsonObject& object, std::string_view name, Value& value) {
  return object[name].get<Value>().get(value) == simdjson::SUCCESS;
}

/// Empty if there is none.
inline std::string text_of(const JsonObject& object, std::string_view name) {
  std::string_view text;
  return take(object, name, text) ? std::string(text) : std::string();
}

inline std::optional<std::int64_t> integer_of(const JsonObject& object, std::string_view name) {
  std::int64_t number = 0;
  return take(object, name, number) ? std::optional(number) : std::nullopt;
}

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_JSON_MEMBERS_H
