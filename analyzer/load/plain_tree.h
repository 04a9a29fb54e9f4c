// SPDX-License-Identifier: Apache-2.0
//
// A tree of plain values: what a pickle or a JSON text of a Flight Recorder dump holds. Containers
// are kept beside the values, so that neither making nor releasing a tree calls itself.
#ifndef RINGSIDE_ANALYZER_LOAD_PLAIN_TREE_H
#define RINGSIDE_ANALYZER_LOAD_PLAIN_TREE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ringside::load {

struct PlainValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,
    kList,   // and a tuple
    kDict,   // its items are keys and values in turn
    kOther,  // a number that does not fit
  };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;  // of a truth value 0 or 1; of a container its place in the tree
  double real = 0;
  std::string_view text;
};

class PlainTree {
 public:
  using Kind = PlainValue::Kind;

  PlainValue add_container(Kind kind) {
    containers_.emplace_back();
    return {kind, static_cast<std::int64_t>(containers_.size() - 1), 0, {}};
  }
  /// `container` must be a list or a dict.
  std::vector<PlainValue>& items_of(const PlainValue& container) {
    return containers_[static_cast<std::size_t>(container.number)];
  }
  std::size_t containers() const { return containers_.size(); }

  /// The items of a list; none of anything else.
  std::span<const PlainValue> list(const PlainValue& value) const {
    return value.kind == Kind::kList ? items(value) : std::span<const PlainValue>();
  }
  /// Keys and values of a dict, in turn; none of anything else.
  std::span<const PlainValue> dict(const PlainValue& value) const {
    return value.kind == Kind::kDict ? items(value) : std::span<const PlainValue>();
  }
  /// The value of a key; none where there is none, or where it is no dict.
  PlainValue at(const PlainValue& value, std::string_view key) const {
    const auto pairs = dict(value);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i].kind == Kind::kText && pairs[i].text == key) {
        return pairs[i + 1];
      }
    }
    return {};
  }

 private:
  std::span<const PlainValue> items(const PlainValue& container) const {
    return containers_[static_cast<std::size_t>(container.number)];
  }

  std::deque<std::vector<PlainValue>> containers_;
};

inline std::optional<std::int64_t> integer_of(const PlainValue& value) {
  return value.kind == PlainValue::Kind::kInteger ? std::optional(value.number) : std::nullopt;
}

/// Empty if it is no text.
inline std::string_view text_of(const PlainValue& value) {
  return value.kind == PlainValue::Kind::kText ? value.text : std::string_view();
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PLAIN_TREE_H
