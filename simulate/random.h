// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_RANDOM_H
#define RINGSIDE_SIMULATE_RANDOM_H

#include <cstdint>

namespace ringside::simulate {

/// SplitMix64 (Steele, Lea, Flood 2014). The distributions of the standard library differ between
/// implementations; the same seed must give the same bytes everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// From 0 up to, not including, 1.
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  /// From `low` up to, not including, `high`; `low` if there is nothing between.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(unit() * static_cast<double>(high - low));
  }

 private:
  std::uint64_t state_;
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_RANDOM_H
