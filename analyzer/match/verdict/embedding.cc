// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/embedding.h"

#include <algorithm>
#include <map>

namespace ringside::match {

Embedding::Embedding(const std::vector<std::uint32_t>& reference,
                     const std::vector<std::uint32_t>& calls)
    : calls_(calls.size()),
      from_begin_(reference.size() + 1),
      from_end_(reference.size() + 1),
      used_(reference.size()) {
  for (std::size_t k = 0; k < reference.size(); ++k) {
    const std::size_t found = from_begin_[k];
    from_begin_[k + 1] = found + (found < calls_ && calls[found] == reference[k] ? 1 : 0);
  }
  for (std::size_t k = reference.size(); k-- > 0;) {
    const std::size_t found = from_end_[k + 1];
    from_end_[k] = found + (found < calls_ && calls[calls_ - 1 - found] == reference[k] ? 1 : 0);
  }
  if (!is_there()) {
    return;
  }
  std::map<std::uint32_t, std::vector<std::size_t>> places;  // indices in `calls` of each symbol
  for (std::size_t j = 0; j < calls_; ++j) {
    places[calls[j]].push_back(j);
  }
  for (std::size_t k = 0; k < reference.size(); ++k) {
    const auto of_symbol = places.find(reference[k]);
    if (of_symbol == places.end()) {
      continue;
    }
    // All calls must fit into the elements before this one and those after it.
    const std::size_t behind = from_end_[k + 1] + 1;
    const std::size_t least = behind < calls_ ? calls_ - behind : 0;
    const auto at = std::lower_bound(of_symbol->second.begin(), of_symbol->second.end(), least);
    used_[k] = at != of_symbol->second.end() && *at <= from_begin_[k];
  }
}

std::size_t Embedding::first_end() const {
  const auto end = std::find(from_begin_.begin(), from_begin_.end(), calls_);
  return static_cast<std::size_t>(end - from_begin_.begin());
}

}  // namespace ringside::match
