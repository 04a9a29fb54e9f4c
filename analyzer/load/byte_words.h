// SPDX-License-Identifier: Apache-2.0
//
// Eight bytes at a time, where calling memchr would cost more than the search.
#ifndef RINGSIDE_ANALYZER_LOAD_BYTE_WORDS_H
#define RINGSIDE_ANALYZER_LOAD_BYTE_WORDS_H

#include <bit>
#include <cstdint>
#include <cstring>

namespace ringside::load {

inline constexpr std::uint64_t kOnes = 0x0101010101010101U;
inline constexpr std::uint64_t kTops = 0x8080808080808080U;

inline std::uint64_t load_word(const char* at) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof(bytes));
  return bytes;
}

/// The top bit of each byte that equals `wanted`; exact, no carry crosses bytes.
inline std::uint64_t equal_bytes(std::uint64_t bytes, unsigned char wanted) {
  const std::uint64_t difference = bytes ^ (kOnes * wanted);
  return ~(((difference & ~kTops) + ~kTops) | difference) & kTops;
}

/// The number of eight decimal digits, the first in the lowest byte; false if they are not digits.
/// Neighbours are joined: digits to numbers of two, these to numbers of four, these to one of
/// eight.
inline bool read_eight_digits(std::uint64_t bytes, std::uint64_t& number) {
  constexpr std::uint64_t kHigh = 0xF0F0F0F0F0F0F0F0U;
  constexpr std::uint64_t kZeros = 0x3030303030303030U;
  // 6 more takes all above '9' out of the row of the digits.
  if ((bytes & kHigh) != kZeros || ((bytes + kOnes * 6) & kHigh) != kZeros) {
    return false;
  }
  bytes -= kZeros;
  bytes = (bytes * 10 + (bytes >> 8)) & 0x00FF00FF00FF00FFU;
  bytes = (bytes * 100 + (bytes >> 16)) & 0x0000FFFF0000FFFFU;
  number = (bytes * 10'000 + (bytes >> 32)) & 0x00000000FFFFFFFFU;
  return true;
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

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_BYTE_WORDS_H
