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

/// A sum of times from 0 on, some of which nothing bounds: these are half of the greatest value or
/// more.
class TimeSum {
 public:
  void add(std::int64_t time_ns) {
    if (is_unbounded(time_ns)) {
      ++unbounded_;
    } else {
      bounded_ns_ = add_saturating(bounded_ns_, time_ns);
    }
  }
  std::int64_t all() const { return without(0); }
  /// The sum of all but one that was added.
  std::int64_t without(std::int64_t time_ns) const {
    const bool is_open = is_unbounded(time_ns);
    return unbounded_ > (is_open ? 1U : 0U)
               ? std::numeric_limits<std::int64_t>::max()
               : subtract_saturating(bounded_ns_, is_open ? 0 : time_ns);
  }

 private:
  static bool is_unbounded(std::int64_t time_ns) {
    return time_ns >= std::numeric_limits<std::int64_t>::max() / 2;
  }

  std::int64_t bounded_ns_ = 0;
  std::uint64_t unbounded_ = 0;
};

}  // namespace ringside

#endif  // RINGSIDE_ANALYZER_MODEL_SATURATING_H
