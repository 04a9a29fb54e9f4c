// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_PARSE_NUMBER_H
#define RINGSIDE_ANALYZER_LOAD_JSON_PARSE_NUMBER_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace ringside::load {

/// The number that a text is, all of it. `form`: the base of whole numbers, if it is not 10.
template <typename Number, typename... Form>
std::optional<Number> parse_number(std::string_view digits, Form... form) {
  Number number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, form...);
  return error == std::errc() && rest == end && !digits.empty() ? std::optional(number)
                                                                : std::nullopt;
}

/// The number of "0x1a"; nothing if the text is anything else.
inline std::optional<std::uint64_t> parse_hex(std::string_view text) {
  return text.starts_with("0x") ? parse_number<std::uint64_t>(text.substr(2), 16) : std::nullopt;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_PARSE_NUMBER_H
