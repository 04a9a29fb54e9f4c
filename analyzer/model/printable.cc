// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/printable.h"

#include <cstddef>

namespace ringside::model {
namespace {

// Returns the length of the character that begins at `at`, or 0 if these bytes are no UTF-8.
std::size_t length_at(std::string_view text, std::size_t at) {
  const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte_at(at);
  const std::size_t length = lead < 0x80                    ? 1
                             : lead >= 0xC2 && lead <= 0xDF ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || length > text.size() - at) {
    return 0;
  }
  for (std::size_t j = 1; j < length; ++j) {
    if ((byte_at(at + j) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  // Longer than need be, a surrogate, beyond U+10FFFF.
  const bool is_invalid =
      (lead == 0xE0 && byte_at(at + 1) < 0xA0) || (lead == 0xED && byte_at(at + 1) > 0x9F) ||
      (lead == 0xF0 && byte_at(at + 1) < 0x90) || (lead == 0xF4 && byte_at(at + 1) > 0x8F);
  return is_invalid ? 0 : length;
}

// U+061C, U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069: they end a line, or change the
// order in which the characters of a line are shown.
bool changes_order(std::string_view character) {
  return character == "\u061C" || character == "\u200E" || character == "\u200F" ||
         (character >= "\u2028" && character <= "\u202E") ||
         (character >= "\u2066" && character <= "\u2069");
}

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  return lead < ' ' || lead == 0x7F ||
         (lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0) ||
         changes_order(character);
}

std::string without_controls(std::string_view text, bool keeps_newlines) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_at(text, at);
    const std::string_view character = text.substr(at, length == 0 ? 1 : length);
    if (keeps_newlines && character == "\n") {
      shown += '\n';
    } else if (length == 0 || is_control(character)) {
      shown += '?';
    } else {
      shown += character;
    }
    at += character.size();
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) {
  return without_controls(text, false);
}

std::string printable_lines(std::string_view text) {
  return without_controls(text, true);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_at(text, at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace ringside::model
