// SPDX-License-Identifier: Apache-2.0
//
// Builds JSON text in a buffer: no printf, no locale, no allocation once the buffer has grown.
#ifndef RINGSIDE_PLUGIN_EXPORT_JSON_TEXT_H
#define RINGSIDE_PLUGIN_EXPORT_JSON_TEXT_H

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::exporting {

class JsonText {
 public:
  JsonText& raw(std::string_view text) {
    text_.append(text);
    return *this;
  }

  template <std::integral T>
  JsonText& integer(T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    text_.append(digits, end.ptr);
    return *this;
  }

  /// "0x..." in quotes, for what does not fit into a double.
  JsonText& hex(std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, 16);
    text_.append("\"0x").append(digits, end.ptr).push_back('"');
    return *this;
  }

  /// Nanoseconds as microseconds with three decimals.
  JsonText& microseconds(std::int64_t ns) {
    if (ns < 0) {
      ns = 0;
    }
    integer(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    const char decimals[4] = {'.', static_cast<char>('0' + rest / 100),
                              static_cast<char>('0' + rest / 10 % 10),
                              static_cast<char>('0' + rest % 10)};
    text_.append(decimals, sizeof decimals);
    return *this;
  }

  /// A number with three decimals; value must be finite.
  JsonText& fixed(double value) {
    char digits[64];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 3);
    text_.append(digits, end.ptr);
    return *this;
  }

  /// A quoted string: control characters, quotes and backslashes escaped, bytes that are not UTF-8
  /// replaced by U+FFFD.
  JsonText& string(std::string_view text);

  // Members of an object; each begins with a comma, so that none is the first.
  template <std::integral T>
  JsonText& member(std::string_view key, T value) {
    return this->key(key).integer(value);
  }
  JsonText& member_string(std::string_view key, std::string_view value) {
    return this->key(key).string(value);
  }
  JsonText& member_hex(std::string_view key, std::uint64_t value) {
    return this->key(key).hex(value);
  }
  JsonText& member_true(std::string_view key) { return this->key(key).raw("true"); }
  JsonText& key(std::string_view key) {
    text_.append(",\"").append(key).append("\":");
    return *this;
  }

  std::string& text() { return text_; }
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_JSON_TEXT_H
