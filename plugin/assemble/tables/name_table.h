// SPDX-License-Identifier: Apache-2.0
//
// The texts of name codes: the known codes, and those that each ring has announced.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_TABLES_NAME_TABLE_H
#define RINGSIDE_PLUGIN_ASSEMBLE_TABLES_NAME_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "plugin/record/names.h"

namespace ringside::assemble {

class NameTable {
 public:
  void announce(std::uint32_t ring, std::uint64_t code, std::string_view text) {
    announced_[(std::uint64_t{ring} << 8) | (code & 0xFF)] = intern(text);
  }

  /// The text of a code: empty for kNameNone, "?" for a name that could not be kept.
  std::string_view text(std::uint32_t ring, std::uint8_t code) const {
    if (code < record::kFirstDynamicName) {
      return record::known_name_text(code);
    }
    const auto found = announced_.find((std::uint64_t{ring} << 8) | code);
    return found != announced_.end() ? found->second : std::string_view("?");
  }

  /// A copy that stays valid as long as the table.
  std::string_view intern(std::string_view text) { return *texts_.emplace(text).first; }

 private:
  std::unordered_set<std::string> texts_;
  std::unordered_map<std::uint64_t, std::string_view> announced_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_TABLES_NAME_TABLE_H
