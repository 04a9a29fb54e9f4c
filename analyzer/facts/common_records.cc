// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/common_records.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ringside::facts {

std::vector<bool> outside_common_records(const match::Matches& matches) {
  const auto& operations = matches.operations;
  std::vector<bool> outside(operations.size());
  for (std::size_t first = 0, last = 0; first < operations.size(); first = last) {
    const match::MatchedOperation& one = operations[first];
    const std::size_t members = matches.communicators[one.communicator].members.size();
    bool is_any_short = false;
    for (; last < operations.size() && operations[last].communicator == one.communicator &&
           operations[last].way == one.way && operations[last].func == one.func;
         ++last) {
      is_any_short = is_any_short || operations[last].part_count < members;
    }
    if (one.way == match::Way::kPair || one.way == match::Way::kGroup || !is_any_short) {
      continue;
    }
    std::vector<std::pair<std::size_t, std::size_t>> spans(members, {first, last});
    std::vector<bool> has_any(members);
    for (std::size_t i = first; i < last; ++i) {
      for (const match::Part& part : match::parts_of(matches, operations[i])) {
        spans[part.member].first = has_any[part.member] ? spans[part.member].first : i;
        spans[part.member].second = i;
        has_any[part.member] = true;
      }
    }
    std::size_t begin = first;
    std::size_t end = last;
    for (const auto& [of_first, of_last] : spans) {
      begin = std::max(begin, of_first);
      end = std::min(end, of_last);
    }
    for (std::size_t i = first; i < last && begin <= end; ++i) {
      outside[i] = i < begin || i > end;
    }
  }
  return outside;
}

}  // namespace ringside::facts
