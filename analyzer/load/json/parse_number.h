// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_PARSE_NUMBER_H
#define RINGSIDE_ANALYZER_LOAD_JSON_PARSE_NUMBER_H

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ringside::load {

/// The number that a text is, all of it.
template <typename Integer>
std::optional<Integer> parse_number(std::string_view digits) {
  Integer number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && rest == end && !digits.empty() ? std::optional(number)
                                                                : std::nullopt;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_PARSE_NUMBER_H
