// SPDX-License-Identifier: Apache-2.0
//
// Searches eight bytes at a time, for texts so short that a call of memchr would cost more.
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_BYTE_WORDS_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_BYTE_WORDS_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ringside::load {

inline constexpr std::uint64_t kOnes = 0x0101010101010101U;
inline constexpr std::uint64_t kTops = 0x8080808080808080U;

inline std::uint64_t load_word(const char* at) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof(bytes));
  return bytes;
}

/// Whether a text is one that is known when this is compiled: without a call of memcmp.
template <std::size_t kSize>
bool is_text(std::string_view text, const char (&known)[kSize]) {
  return text.size() == kSize - 1 && std::memcmp(text.data(), known, kSize - 1) == 0;
}

/// The top bit of each byte that equals `wanted`; exact, no carry crosses bytes.
inline std::uint64_t equal_bytes(std::uint64_t bytes, unsigned char wanted) {
  const std::uint64_t difference = bytes ^ (kOnes * wanted);
  return ~(((difference & ~kTops) + ~kTops) | difference) & kTops;
}

/// The number of eight decimal digits, the first in the lowest byte. Neighbours are joined: digits
/// to numbers of two, these to numbers of four, these to one of eight.
inline std::uint64_t join_eight_digits(std::uint64_t bytes) {
  bytes -= kOnes * '0';
  bytes = (bytes * 10 + (bytes >> 8)) & 0x00FF00FF00FF00FFU;
  bytes = (bytes * 100 + (bytes >> 16)) & 0x0000FFFF0000FFFFU;
  return (bytes * 10'000 + (bytes >> 32)) & 0x00000000FFFFFFFFU;
}

/// How many of eight bytes, from the first on, are decimal digits.
inline std::size_t leading_digits(std::uint64_t bytes) {
  static_assert(std::endian::native == std::endian::little);
  // A subtraction sets the top bit of a byte below '0', an addition that of one above '9'. A carry
  // reaches only the bytes above the one that made it, so the first that is found is right.
  const std::uint64_t others = ((bytes - kOnes * '0') | (bytes + kOnes * (0x7F - '9'))) & kTops;
  return others == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(others)) / 8;
}

/// How many bytes from `at` on are decimal digits, at most 16. From `at` 16 bytes may be read.
[[gnu::always_inline]] inline std::size_t count_digits(const char* at) {
  const std::size_t high = leading_digits(load_word(at));
  return high < 8 ? high : 8 + leading_digits(load_word(at + 8));
}

/// Reads the decimal digits from `at` on as a number. Returns how many they are, from 0 to 16. From
/// `at` 16 bytes may be read.
inline std::size_t read_digits(const char* at, std::uint64_t& number) {
  // '0' stands before the first of fewer digits than eight.
  const auto join = [](std::uint64_t bytes, std::size_t digits) {
    return join_eight_digits(digits == 0 ? kOnes * '0'
                             : digits == 8
                                 ? bytes
                                 : bytes << (64 - 8 * digits) | (kOnes * '0') >> 8 * digits);
  };
  const std::uint64_t first = load_word(at);
  const std::size_t high = leading_digits(first);
  number = join(first, high);
  if (high < 8) {
    return high;
  }
  constexpr std::uint64_t kPowers[] = {1,       10,        100,        1'000,      10'000,
                                       100'000, 1'000'000, 10'000'000, 100'000'000};
  const std::uint64_t second = load_word(at + 8);
  const std::size_t low = leading_digits(second);
  number = number * kPowers[low] + join(second, low);
  return 8 + low;
}

/// The first quote or backslash from `at` on. There is one, and 7 bytes after it may be read.
inline const char* find_quote_or_backslash(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  for (;; at += 8) {
    // A borrow may mark a byte above one that is equal, never one below: the first is right.
    const std::uint64_t quote = load_word(at) ^ (kOnes * '"');
    const std::uint64_t backslash = load_word(at) ^ (kOnes * '\\');
    if (const auto found =
            (((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kTops) {
      return at + std::countr_zero(found) / 8;
    }
  }
}

/// Whether one of eight bytes is a quote, a backslash or a control character.
inline bool has_escaped_byte(std::uint64_t bytes) {
  const std::uint64_t quote = bytes ^ (kOnes * '"');
  const std::uint64_t backslash = bytes ^ (kOnes * '\\');
  return ((((bytes - kOnes * ' ') & ~bytes) | ((quote - kOnes) & ~quote) |
           ((backslash - kOnes) & ~backslash)) &
          kTops) != 0;
}

/// The first byte from `at` on that does not stand for itself within a JSON text: a quote, a
/// backslash, a control character or one that is not ASCII. There is one, and 7 bytes after it may
/// be read.
[[gnu::always_inline]] inline const char* find_end_of_plain_text(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  for (;; at += 8) {
    const std::uint64_t bytes = load_word(at);
    const std::uint64_t quote = bytes ^ (kOnes * '"');
    const std::uint64_t backslash = bytes ^ (kOnes * '\\');
    // A subtraction sets the top bit of a byte that it takes below zero, and of others that are not
    // ASCII. A borrow may mark a byte above one that is found, never one below: the first is right.
    if (const auto found =
            ((bytes - kOnes * ' ') | (quote - kOnes) | (backslash - kOnes) | bytes) & kTops) {
      return at + std::countr_zero(found) / 8;
    }
  }
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_BYTE_WORDS_H
