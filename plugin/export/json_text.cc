// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/json_text.h"

#include <array>

namespace ringside::exporting {
namespace {

// Length of the well-formed UTF-8 sequence at the start of text (Unicode 15, table 3-7); 0 if there
// is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const auto follows = [&](std::size_t at, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(at) >= low && byte(at) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

JsonText& JsonText::string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_.push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
      text.remove_prefix(1);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      const std::array<char, 6> escape = {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      text_.append(escape.data(), escape.size());
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      text_.append("\\ufffd");
      text.remove_prefix(1);
      continue;
    }
    text_.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  text_.push_back('"');
  return *this;
}

}  // namespace ringside::exporting
