// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_NTH_VALUE_H
#define RINGSIDE_ANALYZER_MODEL_NTH_VALUE_H

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ringside::model {

/// The value that would stand at `place`, from 0, in ascending order. Changes the order of
/// `values`.
template <typename T>
T nth_value(std::vector<T>& values, std::size_t place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// One of the values: that in the middle, of an even number the lesser of both. `values` is not
/// empty.
template <typename T>
T lower_median(std::vector<T>& values) {
  return nth_value(values, (values.size() - 1) / 2);
}

/// The same, but of an even number the greater of both.
template <typename T>
T upper_median(std::vector<T>& values) {
  return nth_value(values, values.size() / 2);
}

/// The lower median of all but the value at `place`. `sorted` ascends and has two values or more.
template <typename T>
T median_of_others(const std::vector<T>& sorted, std::size_t place) {
  const std::size_t middle = (sorted.size() - 1) / 2;
  return sorted[middle + (place <= middle ? 1 : 0)];
}

struct Weighted {
  double value = 0;
  double weight = 0;
};

/// The value below which half of the weight is. Changes the order of `values`, which is not empty.
inline double weighted_median(std::vector<Weighted>& values) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& one, const Weighted& other) { return one.value < other.value; });
  double rest = 0;
  for (const Weighted& one : values) {
    rest += one.weight / 2;
  }
  auto at = values.begin();
  while (at + 1 != values.end() && (rest -= at->weight) > 0) {
    ++at;
  }
  return at->value;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_NTH_VALUE_H
