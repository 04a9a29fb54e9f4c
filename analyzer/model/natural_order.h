// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_NATURAL_ORDER_H
#define RINGSIDE_ANALYZER_MODEL_NATURAL_ORDER_H

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ringside::model {

/// Names as people order them: "host2" before "host10". Equal only if the names are.
struct NaturalLess {
  bool operator()(std::string_view a, std::string_view b) const {
    const auto digits_from = [](std::string_view text, std::size_t at) {
      return text.substr(at, text.find_first_not_of("0123456789", at) - at);
    };
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
      std::string_view left = digits_from(a, i);
      std::string_view right = digits_from(b, j);
      if (left.empty() || right.empty()) {
        if (a[i] != b[j]) {
          return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
        }
        ++i;
        ++j;
        continue;
      }
      i += left.size();
      j += right.size();
      left.remove_prefix(std::min(left.find_first_not_of('0'), left.size()));
      right.remove_prefix(std::min(right.find_first_not_of('0'), right.size()));
      if (left != right) {
        return left.size() != right.size() ? left.size() < right.size() : left < right;
      }
    }
    if (i < a.size() || j < b.size()) {
      return i == a.size();
    }
    // They differ in zeros in front of a number only.
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_NATURAL_ORDER_H
