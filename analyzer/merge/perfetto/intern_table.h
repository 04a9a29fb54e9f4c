// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MERGE_PERFETTO_INTERN_TABLE_H
#define RINGSIDE_ANALYZER_MERGE_PERFETTO_INTERN_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ringside::merge {

/// Numbers for texts, from 1. Bounded: texts may all differ.
class InternTable {
 public:
  struct Found {
    std::uint64_t number = 0;  ///< 0: the table is full
    bool is_new = false;
  };
  Found find(std::string_view text) {
    constexpr std::size_t kMost = 100'000;
    const auto place = numbers_.find(text);
    if (place != numbers_.end()) {
      return {place->second, false};
    }
    if (numbers_.size() == kMost) {
      return {};
    }
    const std::uint64_t number = numbers_.size() + 1;
    numbers_.emplace(text, number);
    return {number, true};
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PERFETTO_INTERN_TABLE_H
