// SPDX-License-Identifier: Apache-2.0
//
// Digests of calls, by which those of many ranks are compared.
#ifndef RINGSIDE_ANALYZER_MATCH_CALLS_DIGEST_H
#define RINGSIDE_ANALYZER_MATCH_CALLS_DIGEST_H

#include <array>
#include <cstdint>
#include <optional>

namespace ringside::match {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 12) + (hash >> 4);
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 31);
}

using Digest = std::array<std::uint64_t, 2>;

inline void mix_in(std::uint64_t value, Digest& digest) {
  digest[0] = mix(digest[0], value);
  digest[1] = mix(digest[1], ~value);
}

template <typename T>
void mix_in(const std::optional<T>& value, Digest& digest) {
  mix_in(value ? 1 : 0, digest);
  mix_in(value.value_or(0), digest);
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CALLS_DIGEST_H
