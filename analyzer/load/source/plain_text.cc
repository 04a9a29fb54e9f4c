// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/plain_text.h"

#include <algorithm>
#include <array>

namespace ringside::load {

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

std::string plain_text(std::string_view text) {
  constexpr std::array<std::string_view, 9> kEscapes = {
      "\x1b", "^[", "\\033", "\\x1b", "\\x1B", "\\e", "\\u001b", "#033", "\xe2\x90\x9b"};
  text = without_byte_order_mark(text);
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end =
        text[at] == '[' ? text.find_first_not_of("0123456789;", at + 1) : text.npos;
    const bool is_colour = end != text.npos && (text[end] == 'm' || text[end] == 'K');
    const auto* const escape = std::ranges::find_if(kEscapes, [&](std::string_view one) {
      return is_colour && std::string_view(plain).ends_with(one);
    });
    if (is_colour && (escape != kEscapes.end() || end > at + 1)) {  // else its escape was dropped
      plain.resize(plain.size() - (escape == kEscapes.end() ? 0 : escape->size()));
      at = end;
    } else if (text[at] != '\r') {
      plain += text[at];
    }
  }
  return plain;
}

}  // namespace ringside::load
