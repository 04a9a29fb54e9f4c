// SPDX-License-Identifier: Apache-2.0
//
// Puts short texts and numbers behind a text, without a look at its room for each of them.
#ifndef RINGSIDE_ANALYZER_MERGE_APPENDER_H
#define RINGSIDE_ANALYZER_MERGE_APPENDER_H

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "analyzer/load/source/byte_words.h"

namespace ringside::merge {

class Appender {
 public:
  /// Bytes of a number at most, whatever its form.
  static constexpr std::size_t kNumber_bytes = 24;
  /// Bytes of a quoted text at most.
  static std::size_t quoted_bytes(std::string_view text) { return 6 * text.size() + 2; }

  /// No more than `most_bytes` will be put. The text is whole once this is gone.
  Appender(std::string& output, std::size_t most_bytes) : output_(output) {
    const std::size_t size = output.size();
    output.resize(size + most_bytes);
    at_ = output.data() + size;
  }
  ~Appender() { output_.resize(static_cast<std::size_t>(at_ - output_.data())); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  Appender& put(const char* text, std::size_t bytes) {
    std::memcpy(at_, text, bytes);
    at_ += bytes;
    return *this;
  }
  Appender& put(std::string_view text) { return put(text.data(), text.size()); }

  /// Digits as they are, without quotes.
  Appender& number(std::uint64_t number) {
    at_ = std::to_chars(at_, at_ + kNumber_bytes, number).ptr;
    return *this;
  }

  /// "12.345": microseconds of nanoseconds, which are not negative.
  Appender& microseconds(std::int64_t time_ns) {
    const auto number = static_cast<std::uint64_t>(time_ns);
    this->number(number / 1000);
    const auto part = static_cast<unsigned>(number % 1000);
    *at_++ = '.';
    *at_++ = static_cast<char>('0' + part / 100);
    *at_++ = static_cast<char>('0' + part / 10 % 10);
    *at_++ = static_cast<char>('0' + part % 10);
    return *this;
  }

  /// "0x1a", quoted.
  Appender& hex(std::uint64_t value) {
    put("\"0x");
    at_ = std::to_chars(at_, at_ + kNumber_bytes, value, 16).ptr;
    *at_++ = '"';
    return *this;
  }

  /// A JSON string; `text` is valid UTF-8.
  Appender& quoted(std::string_view text) {
    *at_++ = '"';
    if (is_plain(text)) {
      put(text);
    } else {
      escaped(text);
    }
    *at_++ = '"';
    return *this;
  }

 private:
  static bool is_plain(std::string_view text) {
    for (; text.size() >= 8; text.remove_prefix(8)) {
      if (load::has_escaped_byte(load::load_word(text.data()))) {
        return false;
      }
    }
    std::uint64_t rest = load::kOnes * ' ';
    std::memcpy(&rest, text.data(), text.size());
    return !load::has_escaped_byte(rest);
  }

  void escaped(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20) {
        put("\\u00");
        *at_++ = kHex[byte >> 4U];
        *at_++ = kHex[byte & 0xFU];
        continue;
      }
      if (byte == '"' || byte == '\\') {
        *at_++ = '\\';
      }
      *at_++ = c;
    }
  }

  std::string& output_;
  char* at_;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_APPENDER_H
