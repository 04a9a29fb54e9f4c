// SPDX-License-Identifier: Apache-2.0
//
// A number that may be absent, in the memory of the number alone.
#ifndef RINGSIDE_ANALYZER_MODEL_OPTIONAL_NUMBER_H
#define RINGSIDE_ANALYZER_MODEL_OPTIONAL_NUMBER_H

#include <limits>
#include <optional>

namespace ringside::model {

/// The value that stands for "absent" in memory: no operation of a trace has this value.
template <typename Integer>
inline constexpr Integer kAbsentNumber = std::numeric_limits<Integer>::is_signed
                                             ? std::numeric_limits<Integer>::min()
                                             : std::numeric_limits<Integer>::max();

/// A std::optional of half the size, for what is read in millions.
template <typename Integer>
class OptionalNumber {
 public:
  constexpr OptionalNumber() = default;
  /// kAbsentNumber makes one that is absent.
  constexpr explicit OptionalNumber(Integer number) : number_(number) {}

  constexpr explicit operator bool() const { return number_ != kAbsentNumber<Integer>; }
  constexpr Integer operator*() const { return number_; }
  constexpr Integer value_or(Integer other) const { return *this ? number_ : other; }
  constexpr operator std::optional<Integer>() const {
    return *this ? std::optional(number_) : std::nullopt;
  }

  friend constexpr bool operator==(OptionalNumber a, OptionalNumber b) = default;
  friend constexpr bool operator==(OptionalNumber a, Integer b) { return a && *a == b; }
  friend constexpr bool operator==(OptionalNumber a, const std::optional<Integer>& b) {
    return std::optional<Integer>(a) == b;
  }

 private:
  Integer number_ = kAbsentNumber<Integer>;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_OPTIONAL_NUMBER_H
