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

/// The first quote or backslash from `at` on. There is one, and 7 bytes after it may be read.
inline const char* find_quote_or_backslash(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  for (;; at += 8) {
    const std::uint64_t bytes = load_word(at);
    if (const auto found = equal_bytes(bytes, '"') | equal_bytes(bytes, '\\')) {
      return at + std::countr_zero(found) / 8;
    }
  }
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_BYTE_WORDS_H
