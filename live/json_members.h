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
#include <utility>

namespace ringside::live {

using JsonObject = simdjson::dom::object;

/// False if there is no such member of this type: `value` stays as it is.
template <typename Value>
bool take(const JsonObject& object, std::string_view name, Value& value) {
  return object[name].get<Value>().get(value) == simdjson::SUCCESS;
}
inline bool take(const JsonObject& object, std::string_view name, std::string& value) {
  std::string_view text;
  const bool is_there = take(object, name, text);
  value = is_there ? std::string(text) : std::move(value);
  return is_there;
}
/// Nothing if it is not there.
template <typename Value>
bool take(const JsonObject& object, std::string_view name, std::optional<Value>& value) {
  Value found{};
  value = take(object, name, found) ? std::optional(found) : std::nullopt;
  return value.has_value();
}
/// Names and values, one after the other, up to the first that is not there.
template <typename Value, typename... Others>
requires(sizeof...(Others) > 0) bool take(const JsonObject& object, std::string_view name,
                                          Value& value, Others&&... others) {
  return take(object, name, value) && take(object, std::forward<Others>(others)...);
}

/// Empty if there is none.
inline std::string text_of(const JsonObject& object, std::string_view name) {
  std::string text;
  take(object, name, text);
  return text;
}

inline std::optional<std::int64_t> integer_of(const JsonObject& object, std::string_view name) {
  std::optional<std::int64_t> number;
  take(object, name, number);
  return number;
}

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_JSON_MEMBERS_H
