// SPDX-License-Identifier: Apache-2.0
//
// Names that repeat in millions of operations (functions, datatypes, algorithms), kept once each.
#ifndef RINGSIDE_ANALYZER_MODEL_NAME_TABLE_H
#define RINGSIDE_ANALYZER_MODEL_NAME_TABLE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ringside::model {

using NameId = std::uint32_t;

/// The id of "no name": the key was absent. Its text is empty.
inline constexpr NameId kNoName = 0;

class NameTable {
 public:
  NameTable() { texts_.emplace_back(); }
  // The views of a copy would be of texts of the original.
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  ~NameTable() = default;

  /// The id of `text`, a new one if it was not seen before; kNoName for an empty text.
  NameId id(std::string_view text) {
    if (text.empty()) {
      return kNoName;
    }
    if (const auto found = ids_.find(text); found != ids_.end()) {
      return found->second;
    }
    const auto next = static_cast<NameId>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), next);
    return next;
  }

  /// The id of a text that was seen before; else kNoName.
  NameId find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found != ids_.end() ? found->second : kNoName;
  }

  /// Ids are below this.
  std::size_t size() const { return texts_.size(); }
  /// The text of an id that this table gave.
  std::string_view text(NameId id) const { return texts_[id]; }

 private:
  std::deque<std::string> texts_;  // a deque: the views in ids_ stay valid as it grows
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_NAME_TABLE_H
