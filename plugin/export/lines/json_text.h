// SPDX-License-Identifier: Apache-2.0
//
// Builds JSON text in a buffer. It uses no printf and no locale, and allocates nothing once the
// buffer has grown. Short functions are inline, so that copying a constant text is a few
// instructions.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_JSON_TEXT_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_JSON_TEXT_H

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ringside::exporting {

class JsonText {
 public:
  JsonText& raw(std::string_view text) {
    append(room(text.size()), text);
    return *this;
  }

  template <std::integral T>
  JsonText& integer(T value) {
    char* const at = room(kMostDigits);
    end_ = std::to_chars(at, at + kMostDigits, value).ptr;
    return *this;
  }

  /// Adds "0x..." in quotes, for numbers that a double cannot hold.
  JsonText& hex(std::uint64_t value) {
    char* const at = append(room(kMostDigits), "\"0x");
    end_ = append(std::to_chars(at, at + 16, value, 16).ptr, "\"");
    return *this;
  }

  /// Adds nanoseconds as microseconds with three decimals.
  JsonText& microseconds(std::int64_t ns) {
    if (ns < 0) {
      ns = 0;
    }
    integer(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    const char decimals[4] = {'.', static_cast<char>('0' + rest / 100),
                              static_cast<char>('0' + rest / 10 % 10),
                              static_cast<char>('0' + rest % 10)};
    return raw({decimals, sizeof decimals});
  }

  /// Adds a number with three decimals. It must be finite.
  JsonText& fixed(double value) {
    constexpr std::size_t kMost = 330;  // length of the largest double
    char* const at = room(kMost);
    end_ = std::to_chars(at, at + kMost, value, std::chars_format::fixed, 3).ptr;
    return *this;
  }

  /// Adds a quoted string. Control characters, quotes and backslashes are escaped. Bytes that are
  /// not UTF-8 are replaced by U+FFFD.
  JsonText& string(std::string_view text);

  // These add a member of an object. Each begins with a comma, so it must not be the object's
  // first.
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
  JsonText& member_bool(std::string_view key, bool value) {
    return this->key(key).raw(value ? "true" : "false");
  }
  // These add the member only if there is something to say: another value than `none`, a text that
  // is not empty, a value that is known, what is true.
  template <std::integral T>
  JsonText& member_unless(std::type_identity_t<T> none, std::string_view key, T value) {
    return value != none ? member(key, value) : *this;
  }
  JsonText& member_text(std::string_view key, std::string_view value) {
    return value.empty() ? *this : member_string(key, value);
  }
  template <std::integral T>
  JsonText& member_known(std::string_view key, const std::optional<T>& value) {
    return value ? member(key, *value) : *this;
  }
  JsonText& member_hex_unless(std::uint64_t none, std::string_view key, std::uint64_t value) {
    return value != none ? member_hex(key, value) : *this;
  }
  JsonText& member_if(bool is_so, std::string_view key) {
    return is_so ? this->key(key).raw("true") : *this;
  }
  JsonText& key(std::string_view key) {
    char* at = append(room(key.size() + 4), ",\"");
    at = append(at, key);
    append(at, "\":");
    return *this;
  }

  /// Begins the next entry of a list or an object: adds a comma, unless it is the first.
  JsonText& next() { return end_[-1] == '[' || end_[-1] == '{' ? *this : raw(","); }

  std::string_view text() const {
    return {buffer_.get(), static_cast<std::size_t>(end_ - buffer_.get())};
  }
  void clear() { end_ = buffer_.get(); }

 private:
  static constexpr std::size_t kMostDigits = 24;  // length of an integer in quotes
  static constexpr std::size_t kFirst_bytes = 4096;

  /// Returns the end of the text, with space for `bytes` more.
  char* room(std::size_t bytes) {
    if (static_cast<std::size_t>(limit_ - end_) < bytes) [[unlikely]] {
      grow(bytes);
    }
    return end_;
  }
  char* append(char* at, std::string_view text) {
    // memcpy would be wrong here: an empty text may have a NULL address.
    std::copy_n(text.data(), text.size(), at);
    return end_ = at + text.size();
  }
  void grow(std::size_t bytes);

  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kFirst_bytes);
  char* end_ = buffer_.get();
  char* limit_ = end_ + kFirst_bytes;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_JSON_TEXT_H
