// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/json_text.h"

#include <cstring>

namespace ringside::exporting {
namespace {

// Returns how many bytes at the start of `text` need no escape.
std::size_t plain_length(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), [](char c) {
    return c < 0x20 || c == 0x7F || c == '"' || c == '\\' || (c & 0x80) != 0;
  });
  return static_cast<std::size_t>(end - text.begin());
}

// Returns the length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table
// 3-7); 0 if there is none.
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

void JsonText::grow(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(end_ - buffer_.get());
  const std::size_t size = std::max(used * 2, used + bytes);
  auto made = std::make_unique<char[]>(size);
  std::memcpy(made.get(), buffer_.get(), used);
  buffer_ = std::move(made);
  end_ = buffer_.get() + used;
  limit_ = buffer_.get() + size;
}

JsonText& JsonText::string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  raw("\"");
  while (true) {
    const std::size_t plain = plain_length(text);
    raw(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) {
      return raw("\"");
    }
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    std::size_t length = 1;
    if (c == '"' || c == '\\') {
      const char escape[] = {'\\', c};
      raw({escape, sizeof escape});
    } else if (byte < 0x80) {
      const char escape[] = {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      raw({escape, sizeof escape});
    } else if (length = utf8_length(text); length != 0) {
      raw(text.substr(0, length));
    } else {
      raw("\\ufffd");
      length = 1;
    }
    text.remove_prefix(length);
  }
}

}  // namespace ringside::exporting
