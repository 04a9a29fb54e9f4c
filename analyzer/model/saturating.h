// SPDX-License-Identifier: Apache-2.0
//
// Sums and differences of times from files, which may be absurd: kept within what fits.
#ifndef RINGSIDE_ANALYZER_MODEL_SATURATING_H
#define RINGSIDE_ANALYZER_MODEL_SATURATING_H

#include <cstdint>
#include <limits>

namespace ringside {

/// a + b, or the limit that it would exceed.
inline std::int64_t add_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return b < 0 ? std::numeric_limits<std::int64_t>::min()
                 : std::numeric_limits<std::int64_t>::max();
  }
  return sum;
}

/// a - b, or the limit that it would exceed.
inline std::int64_t subtract_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) {
    return a < b ? std::numeric_limits<std::int64_t>::min()
                 : std::numeric_limits<std::int64_t>::max();
  }
  return difference;
}

/// a * b, or the limit that it would exceed.
inline std::int64_t multiply_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max()
                              : std::numeric_limits<std::int64_t>::min();
  }
  return product;
}

}  // namespace ringside

#endif  // RINGSIDE_ANALYZER_MODEL_SATURATING_H
