// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_PICKLE_VALUE_STACK_H
#define RINGSIDE_ANALYZER_LOAD_PICKLE_VALUE_STACK_H

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/load/pickle/plain_value.h"

namespace ringside::load {

/// Values one above the other. Its memory is never given back, and what is in it above the size is
/// not touched.
class ValueStack {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  PlainValue* begin() { return values_.data(); }
  const PlainValue* begin() const { return values_.data(); }
  PlainValue* end() { return values_.data() + size_; }
  PlainValue* limit() { return values_.data() + values_.size(); }
  PlainValue& operator[](std::size_t index) { return values_[index]; }
  const PlainValue& operator[](std::size_t index) const { return values_[index]; }
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
  /// `added` must not be values of this one.
  [[gnu::always_inline]] void append(std::span<const PlainValue> added) {
    if (added.size() > values_.size() - size_) {
      reserve(added.size());
    }
    PlainValue* to = end();
    for (const PlainValue& value : added) {
      *to++ = value;
    }
    size_ += added.size();
  }
  /// Copies `count` values from `first` on to the end, where room for `room` is taken. Returns
  /// where that is.
  std::size_t move_to_end(std::size_t first, std::size_t count, std::size_t room) {
    if (room > values_.size() - size_) {
      reserve(room);
    }
    std::copy_n(begin() + first, count, end());
    size_ += room;
    return size_ - room;
  }
  void reserve_one() { reserve(1); }
  /// `size`: no greater than there is room for.
  void set_size(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }

 private:
  [[gnu::noinline]] void reserve(std::size_t more) {
    values_.resize(std::max(2 * values_.size(), std::max(kLeast, size_ + more)));
  }

  static constexpr std::size_t kLeast = 4096;
  std::vector<PlainValue> values_;
  std::size_t size_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PICKLE_VALUE_STACK_H
