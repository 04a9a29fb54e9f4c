// SPDX-License-Identifier: Apache-2.0
//
// Takes typed values out of JSON; what does not fit the type is an error, never truncated.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_JSON_VALUE_H
#define RINGSIDE_ANALYZER_LOAD_JSON_JSON_VALUE_H

#include <concepts>
#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/load/source/byte_words.h"

namespace ringside::load {

/// True if a member, or the end of the object, can follow the token of a value. A value that is
/// taken from its token is skipped by simdjson, which looks at brackets alone then.
inline bool is_followed_well(std::string_view token) {
  const char next = token.data()[token.size()];
  return next == ',' || next == '}';
}

/// Reads what nearly all numbers of a trace are: one to 16 digits and nothing else. False for all
/// others, which may be right, too. From its start 16 bytes may be read.
inline bool is_short_number(std::string_view token, std::int64_t& number) {
  std::uint64_t digits = 0;
  if (token.empty() || token.size() > 16 || (token.front() == '0' && token.size() > 1) ||
      read_digits(token.data(), digits) != token.size()) {
    return false;
  }
  number = static_cast<std::int64_t>(digits);
  return true;
}

template <std::integral Integer>
simdjson::error_code take_integer(simdjson::ondemand::value& value, Integer& result) {
  std::int64_t number = 0;
  const std::string_view token = value.raw_json_token();
  if (!is_followed_well(token) || !is_short_number(token, number)) {
    if (const auto error = value.get_int64().get(number)) {
      return error;
    }
  }
  if (!std::in_range<Integer>(number)) {
    return simdjson::NUMBER_OUT_OF_RANGE;
  }
  result = static_cast<Integer>(number);
  return simdjson::SUCCESS;
}

/// Takes a value of simdjson or a CanonicalValue.
template <typename Value, std::integral Integer>
simdjson::error_code take_integer(Value& value, std::optional<Integer>& result) {
  Integer number = 0;
  if (const auto error = take_integer(value, number)) {
    return error;
  }
  result = number;
  return simdjson::SUCCESS;
}

/// A view of the text, valid as long as the parser's document. Nearly always it needs no unescaping
/// and is in the document itself, which is followed by padding.
inline simdjson::error_code take_view(simdjson::ondemand::value& value, std::string_view& result) {
  const std::string_view token = value.raw_json_token();
  if (is_followed_well(token) && token.starts_with('"')) {
    const char* const begin = token.data() + 1;
    const char* const end = find_quote_or_backslash(begin);
    if (*end == '"') {
      result = {begin, static_cast<std::size_t>(end - begin)};
      return simdjson::SUCCESS;
    }
  }
  return value.get_string().get(result);
}

inline simdjson::error_code take_bool(simdjson::ondemand::value& value, bool& result) {
  return value.get_bool().get(result);
}

inline simdjson::error_code take_text(simdjson::ondemand::value& value, std::string& result) {
  std::string_view text;
  if (const auto error = take_view(value, text)) {
    return error;
  }
  result = text;
  return simdjson::SUCCESS;
}

/// The key of a member, likewise.
inline simdjson::error_code take_key(simdjson::simdjson_result<simdjson::ondemand::field>& field,
                                     std::string_view& key) {
  simdjson::ondemand::raw_json_string raw;
  if (const auto error = field.key().get(raw)) {
    return error;
  }
  const char* const end = find_quote_or_backslash(raw.raw());
  if (*end == '"') {
    key = {raw.raw(), static_cast<std::size_t>(end - raw.raw())};
    return simdjson::SUCCESS;
  }
  return field.unescaped_key().get(key);
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_JSON_VALUE_H
