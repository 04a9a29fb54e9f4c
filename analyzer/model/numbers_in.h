// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_NUMBERS_IN_H
#define RINGSIDE_ANALYZER_MODEL_NUMBERS_IN_H

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace ringside::model {

/// Returns the whole numbers of a text, such as 0, 3 and 7 of "[0, 3, 7]". A number that does not
/// fit is left out.
inline std::vector<std::uint32_t> numbers_in(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    std::uint32_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error == std::errc()) {
      numbers.push_back(number);
    }
    at = rest == at ? at + 1 : rest;
  }
  return numbers;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_NUMBERS_IN_H
