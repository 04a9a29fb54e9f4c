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

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_NTH_VALUE_H
