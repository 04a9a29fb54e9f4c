// SPDX-License-Identifier: Apache-2.0
//
// Takes typed values out of JSON; what does not fit the type is an error, never truncated.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_VALUE_H
#define RINGSIDE_ANALYZER_LOAD_JSON_VALUE_H

#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <utility>

namespace ringside::load {

template <typename Integer>
simdjson::error_code take_integer(simdjson::ondemand::value& value, Integer& result) {
  std::int64_t number = 0;
  if (const auto error = value.get_int64().get(number)) {
    return error;
  }
  if (!std::in_range<Integer>(number)) {
    return simdjson::NUMBER_OUT_OF_RANGE;
  }
  result = static_cast<Integer>(number);
  return simdjson::SUCCESS;
}

template <typename Integer>
simdjson::error_code take_integer(simdjson::ondemand::value& value,
                                  std::optional<Integer>& result) {
  Integer number = 0;
  if (const auto error = take_integer(value, number)) {
    return error;
  }
  result = number;
  return simdjson::SUCCESS;
}

inline simdjson::error_code take_text(simdjson::ondemand::value& value, std::string& result) {
  std::string_view text;
  if (const auto error = value.get_string().get(text)) {
    return error;
  }
  result = text;
  return simdjson::SUCCESS;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_VALUE_H
