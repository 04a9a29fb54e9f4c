// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_LINE_BUFFER_H
#define RINGSIDE_SIMULATE_LINE_BUFFER_H

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::simulate {

/// Text of a file that is not written yet. A thousand files are written side by side, so each is
/// open only while its buffer is flushed.
class LineBuffer {
 public:
  explicit LineBuffer(std::string path) : path_(std::move(path)) {}

  LineBuffer& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }

  LineBuffer& operator<<(std::integral auto value) {
    char digits[24];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    text_.append(digits, result.ptr);
    return *this;
  }

  /// As `"0x..."`, with the quotes.
  LineBuffer& hex(std::uint64_t value) {
    char digits[20];
    const auto result = std::to_chars(digits, digits + sizeof digits, value, 16);
    text_ += "\"0x";
    text_.append(digits, result.ptr);
    text_ += '"';
    return *this;
  }

  /// Nanoseconds as microseconds with three decimals.
  LineBuffer& microseconds(std::int64_t ns) {
    *this << ns / 1000 << '.';
    const auto rest = static_cast<int>(ns % 1000);
    text_ += static_cast<char>('0' + rest / 100);
    text_ += static_cast<char>('0' + rest / 10 % 10);
    text_ += static_cast<char>('0' + rest % 10);
    return *this;
  }

  LineBuffer& operator<<(char c) {
    text_ += c;
    return *this;
  }

  /// Writes what there is if it is much. Throws std::runtime_error, as flush().
  void flush_if_large() {
    if (text_.size() >= kLarge_bytes) {
      flush();
    }
  }

  void flush();

 private:
  static constexpr std::size_t kLarge_bytes = std::size_t{48} << 10U;

  std::string path_;
  std::string text_;
  bool is_begun_ = false;
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_LINE_BUFFER_H
