// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_PERCENT_DECODED_H
#define RINGSIDE_ANALYZER_MODEL_PERCENT_DECODED_H

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace ringside::model {

/// The text with each %XX as the byte that it stands for (RFC 3986): %20 is a blank. A % without
/// two hexadecimal digits stays.
inline std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PERCENT_DECODED_H
