// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ringside::config {
namespace {

// Letters to insert, delete, replace, or swap with their neighbour to get from one name to the
// other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (is_same ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names,
                              std::size_t common) {
  std::string_view nearest;
  std::size_t least = (name.size() - common) / 3 + 2;
  for (const std::string_view other : names) {
    if (const std::size_t apart = distance(name, other); apart < least) {
      least = apart;
      nearest = other;
    }
  }
  return nearest;
}

}  // namespace ringside::config
