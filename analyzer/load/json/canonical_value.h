// SPDX-License-Identifier: Apache-2.0
//
// A value that stands in its line as the plugin writes it: ASCII without escapes, whole numbers of
// at most 15 digits. It can be taken without a parser; json_value.h has the same functions for all
// others.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_VALUE_H
#define RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_VALUE_H

#include <concepts>
#include <cstdint>
#include <simdjson.h>
#include <string_view>
#include <utility>

namespace ringside::load {

struct CanonicalValue {
  enum class Type : std::uint8_t { kText, kNumber, kTrue, kFalse };

  Type type = Type::kText;
  std::string_view text;
  std::uint64_t number = 0;
};

template <std::integral Integer>
simdjson::error_code take_integer(const CanonicalValue& value, Integer& result) {
  if (value.type != CanonicalValue::Type::kNumber || !std::in_range<Integer>(value.number)) {
    return simdjson::INCORRECT_TYPE;
  }
  result = static_cast<Integer>(value.number);
  return simdjson::SUCCESS;
}

inline simdjson::error_code take_view(const CanonicalValue& value, std::string_view& result) {
  if (value.type != CanonicalValue::Type::kText) {
    return simdjson::INCORRECT_TYPE;
  }
  result = value.text;
  return simdjson::SUCCESS;
}

inline simdjson::error_code take_bool(const CanonicalValue& value, bool& result) {
  const bool is_true = value.type == CanonicalValue::Type::kTrue;
  if (!is_true && value.type != CanonicalValue::Type::kFalse) {
    return simdjson::INCORRECT_TYPE;
  }
  result = is_true;
  return simdjson::SUCCESS;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_VALUE_H
