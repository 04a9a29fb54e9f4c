// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_PICKLE_DICT_SHAPES_H
#define RINGSIDE_ANALYZER_LOAD_PICKLE_DICT_SHAPES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/load/pickle/plain_tree.h"

namespace ringside::load {

/// Numbers the shapes of a pickle's dicts. It remembers the last dict of each size, which is
/// enough: those of a list have one shape.
class DictShapes {
 public:
  /// The keys are of another file from now on.
  void forget() {
    for (Keys& keys : last_) {
      keys.keys.clear();
    }
    count_ = 0;
  }

  /// The shape of a dict with these keys and values, in turn: that of the last one with as many, if
  /// it has the same keys. Else, and if that one has none, 0.
  Shape known(std::span<const PlainValue> pairs) const {
    const std::size_t count = pairs.size() / 2;
    if (count >= last_.size() || pairs.size() % 2 != 0 || last_[count].keys.size() != count) {
      return 0;
    }
    const Keys& last = last_[count];
    for (std::size_t i = 0; i < count; ++i) {
      if (pairs[2 * i] != last.keys[i]) {
        return 0;
      }
    }
    return last.shape;
  }

  /// The same, and notes the keys. 0 if a key is there twice, or is no text, or if there are so
  /// many that it does not pay.
  Shape of(std::span<const PlainValue> pairs) {
    if (const Shape shape = known(pairs); shape != 0) {
      return shape;
    }
    if (pairs.size() / 2 >= last_.size()) {
      return 0;
    }
    Keys& last = last_[pairs.size() / 2];
    last.keys.clear();
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      last.keys.push_back(pairs[i]);
    }
    last.shape = are_different_texts(last.keys) ? ++count_ : 0;
    return last.shape;
  }

 private:
  // The keys of the last dict of some size.
  struct Keys {
    Shape shape = 0;
    std::vector<PlainValue> keys;
  };

  bool are_different_texts(const std::vector<PlainValue>& keys) {
    if (std::any_of(keys.begin(), keys.end(),
                    [](const PlainValue& key) { return key.kind != PlainValue::Kind::kText; })) {
      return false;
    }
    texts_.clear();
    for (const PlainValue& key : keys) {
      texts_.push_back(key.text());
    }
    std::sort(texts_.begin(), texts_.end());
    return std::adjacent_find(texts_.begin(), texts_.end()) == texts_.end();
  }

  std::array<Keys, 64> last_;  // by the number of keys
  Shape count_ = 0;
  std::vector<std::string_view> texts_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PICKLE_DICT_SHAPES_H
