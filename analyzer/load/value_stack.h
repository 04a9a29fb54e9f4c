// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_VALUE_STACK_H
#define RINGSIDE_ANALYZER_LOAD_VALUE_STACK_H

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/load/plain_tree.h"

namespace ringside::load {

/// Values one above the other. Its memory is never given back, and what is in it above the size is
/// not touched.
class ValueStack {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  PlainValue* begin() { return values_.data(); }
  PlainValue* end() { return values_.data() + size_; }
  PlainValue* limit() { return values_.data() + values_.size(); }
  PlainValue& operator[](std::size_t index) { return values_[index]; }
  PlainValue& back() { return values_[size_ - 1]; }
  std::span<const PlainValue> from(std::size_t index) const {
    return std::span(values_).subspan(index, size_ - index);
  }
  void push_back(const PlainValue& value) {
    if (size_ == values_.size()) {
      reserve_one();
    }
    values_[size_++] = value;
  }
  void reserve_one() { values_.resize(std::max(2 * values_.size(), std::max(kLeast, size_ + 1))); }
  /// `size`: no greater than there is room for.
  void set_size(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }

 private:
  static constexpr std::size_t kLeast = 4096;
  std::vector<PlainValue> values_;
  std::size_t size_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_VALUE_STACK_H
