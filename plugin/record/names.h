// SPDX-License-Identifier: Apache-2.0
//
// NCCL's constant names (functions, datatypes, algorithms, protocols) as one-byte codes. A record
// does not hold pointers, because their memory may be gone or reused when it is read.
//
// A name is recognised by its first 16 bytes, read with two loads. Its address would not do,
// because another name may be at the same address later. A name that is not in the table gets a
// code that is valid in its ring only (ring.h).
#ifndef RINGSIDE_PLUGIN_RECORD_NAMES_H
#define RINGSIDE_PLUGIN_RECORD_NAMES_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ringside::record {

inline constexpr std::uint8_t kNameNone = 0;            ///< NULL
inline constexpr std::uint8_t kFirstDynamicName = 128;  ///< from here on: codes of one ring
inline constexpr int kDynamicNames = 64;
inline constexpr std::uint8_t kNameOther = 255;  ///< a name that got no code

/// The first 16 bytes of a name, zero after its end.
struct NamePrefix {
  std::uint64_t low;
  std::uint64_t high;
  bool operator==(const NamePrefix&) const = default;
};

/// True if 16 bytes can be read at once. Within a page they can, even past the string's end.
inline bool is_within_page(const char* text) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  return (reinterpret_cast<std::uintptr_t>(text) & (kPage - 1)) <= kPage - sizeof(NamePrefix);
}

/// Returns the same pointer, and makes no instruction. It hides the length of a constant from the
/// compiler, which would otherwise warn of reading beyond its end.
[[gnu::always_inline]] inline const char* of_unknown_length(const char* text) noexcept {
  asm("" : "+r"(text));
  return text;
}

/// Reads 16 bytes, which must be within a page. They may reach past the name's end, so the
/// sanitizers do not check them.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
inline NamePrefix
read_bytes(const char* text) noexcept {
  text = of_unknown_length(text);
  // The loads are volatile, so that the compiler does not turn them into a call that a sanitizer
  // intercepts.
  struct [[gnu::packed, gnu::may_alias]] Word {
    std::uint64_t value;
  };
  return {reinterpret_cast<const volatile Word*>(text)->value,
          reinterpret_cast<const volatile Word*>(text + 8)->value};
}

struct alignas(16) TwoPrefixes {
  NamePrefix first, second;
};

/// These functions compare 16 bytes at one address, or at each of two, with one branch. The names
/// must come from of_unknown_length().
#if defined(__SSE2__)
__attribute__((no_sanitize("address"))) inline bool has_bytes(const char* text,
                                                              const NamePrefix& bytes) noexcept {
  const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text)),
                                      _mm_loadu_si128(reinterpret_cast<const __m128i*>(&bytes)));
  return _mm_movemask_epi8(same) == 0xFFFF;
}
__attribute__((no_sanitize("address"))) inline bool have_bytes(const char* first,
                                                               const char* second,
                                                               const TwoPrefixes& bytes) noexcept {
  const auto* const expected = reinterpret_cast<const __m128i*>(&bytes);
  const __m128i same = _mm_and_si128(
      _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)), expected[0]),
      _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), expected[1]));
  return _mm_movemask_epi8(same) == 0xFFFF;
}
#else
inline bool has_bytes(const char* text, const NamePrefix& bytes) noexcept {
  return read_bytes(text) == bytes;
}
inline bool have_bytes(const char* first, const char* second, const TwoPrefixes& bytes) noexcept {
  const NamePrefix one = read_bytes(first);
  const NamePrefix two = read_bytes(second);
  return ((one.low ^ bytes.first.low) | (one.high ^ bytes.first.high) |
          (two.low ^ bytes.second.low) | (two.high ^ bytes.second.high)) == 0;
}
#endif

/// Reads the prefix of a name. `text` must not be NULL.
inline NamePrefix read_prefix(const char* text) noexcept {
  NamePrefix prefix{};
  if (!is_within_page(text)) [[unlikely]] {
    char copy[sizeof prefix] = {};
    for (std::size_t i = 0; i < sizeof copy && text[i] != '\0'; ++i) {
      copy[i] = text[i];
    }
    std::memcpy(&prefix, copy, sizeof prefix);
    return prefix;
  }
  prefix = read_bytes(text);
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kTops = 0x8080808080808080U;
  const std::uint64_t zero_low = (prefix.low - kOnes) & ~prefix.low & kTops;
  if (zero_low != 0) {
    prefix.low &= (zero_low & -zero_low) - 1;
    prefix.high = 0;
    return prefix;
  }
  const std::uint64_t zero_high = (prefix.high - kOnes) & ~prefix.high & kTops;
  if (zero_high != 0) {
    prefix.high &= (zero_high & -zero_high) - 1;
  }
  return prefix;
}

/// The known names, hashed. The table is never full, so a search ends at an empty bucket.
struct NameEntry {
  NamePrefix prefix;
  std::uint8_t code;
};
inline constexpr std::size_t kNameBuckets = 256;
using NameTable = std::array<NameEntry, kNameBuckets>;
extern const NameTable kNameTable;

constexpr std::size_t name_bucket(const NamePrefix& prefix) noexcept {
  const std::uint64_t mixed = (prefix.low ^ std::rotl(prefix.high, 29)) * 0x9E3779B97F4A7C15U;
  return mixed >> 56;
}

/// Returns the code of a known name, or kNameNone. No known name has 16 bytes or more.
inline std::uint8_t known_name(const NamePrefix& prefix) noexcept {
  for (std::size_t bucket = name_bucket(prefix);; bucket = (bucket + 1) % kNameBuckets) {
    const NameEntry& entry = kNameTable[bucket];
    if (entry.prefix == prefix) [[likely]] {
      return entry.code;
    }
    if (entry.code == kNameNone) {
      return kNameNone;
    }
  }
}

/// Returns the name that has this code; an empty string if none has.
std::string_view known_name_text(std::uint8_t code) noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_NAMES_H
