// SPDX-License-Identifier: Apache-2.0
//
// A tree of plain values: what a pickle or a JSON text of a Flight Recorder dump holds. All items
// are in one vector, so that neither making nor releasing a tree calls itself.
#ifndef RINGSIDE_ANALYZER_LOAD_PICKLE_PLAIN_TREE_H
#define RINGSIDE_ANALYZER_LOAD_PICKLE_PLAIN_TREE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/load/pickle/plain_value.h"
#include "analyzer/load/pickle/value_stack.h"

namespace ringside::load {

/// The keys of dicts that have the same ones in the same order; each is there once. 0: not known.
using Shape = std::uint32_t;

/// A key of dicts, as PlainTree::at() looks for it: what it learns from one dict makes the search
/// in all others of the same shape short.
class PlainKey {
 public:
  explicit PlainKey(std::string_view name) : name_(name) {}

 private:
  friend class PlainTree;
  std::string_view name_;
  mutable Shape shape_ = 0;         // in which it was found
  mutable std::uint32_t pair_ = 0;  // where
};

/// A pickle can have the same value in many places, so that few bytes hold a tree that would take
/// hours to walk. The functions that read it therefore count their work, and give nothing more once
/// it is far more than a genuine dump of that size takes: is_exhausted(). A file of one byte a
/// value would take 16 times its size, so a tree takes no more than most_items_of() it: is_full().
class PlainTree {
 public:
  using Kind = PlainValue::Kind;

  /// `bytes`: of the file that it is made from.
  explicit PlainTree(std::size_t bytes) { clear(bytes); }

  /// Forgets all, for another file. The memory is kept: to get it anew for each file takes longer
  /// than to fill it.
  void clear(std::size_t bytes) {
    items_.clear();
    containers_.clear();
    most_items_ = most_items_of(bytes);
    work_left_ = kLeastWork + kWorkOfByte * static_cast<std::int64_t>(bytes);
    is_full_ = false;
  }

  [[gnu::always_inline]] PlainValue add_container(Kind kind) {
    containers_.push_back({0, 0, 0, 0});
    return {kind, 0, static_cast<std::int64_t>(containers_.size() - 1)};
  }
  /// `container` must be a list or a dict. Items that it has already are moved where there is no
  /// room behind them, and room for as many again is made. `added` must not be items of the tree.
  [[gnu::always_inline]] void append(const PlainValue& container,
                                     std::span<const PlainValue> added) {
    Container& to = containers_[static_cast<std::size_t>(container.number)];
    to.shape = 0;
    if (to.size > 0 || added.size() > most_items_ - items_.size()) {
      return append_more(to, added);
    }
    to.first = static_cast<std::uint32_t>(items_.size());
    to.size = to.room = static_cast<std::uint32_t>(added.size());
    items_.append(added);
  }

  /// Says that the dict has the keys of that shape. Shapes are the caller's numbers, and mean the
  /// same until the tree is cleared.
  void set_shape(const PlainValue& dict, Shape shape) {
    containers_[static_cast<std::size_t>(dict.number)].shape = shape;
  }
  bool is_empty(const PlainValue& container) const {
    return containers_[static_cast<std::size_t>(container.number)].size == 0;
  }

  /// The items of a list; none of anything else.
  std::span<const PlainValue> list(const PlainValue& value) const {
    return value.kind == Kind::kList ? items(value) : std::span<const PlainValue>();
  }
  /// Keys and values of a dict, in turn; none of anything else.
  std::span<const PlainValue> dict(const PlainValue& value) const {
    return value.kind == Kind::kDict ? items(value) : std::span<const PlainValue>();
  }
  /// Returns the value of a key, the last one if it is there twice, as Python does; kNone if there
  /// is none, or if `value` is no dict. It is fast where dicts have one shape.
  [[gnu::always_inline]] PlainValue at(const PlainValue& value, const PlainKey& key) const {
    if (value.kind != Kind::kDict || work_left_ < 0) {
      return {};
    }
    const Container& dict = containers_[static_cast<std::size_t>(value.number)];
    if (dict.shape != 0 && dict.shape == key.shape_) {
      --work_left_;
      return items_[std::size_t{dict.first} + 2 * key.pair_ + 1];
    }
    return find(dict, key);
  }
  PlainValue at(const PlainValue& value, std::string_view key) const {
    return at(value, PlainKey(key));
  }
  /// Empty if it is no text.
  std::string_view text(const PlainValue& value) const {
    if (value.kind != Kind::kText || work_left_ < 0) {
      return {};
    }
    work_left_ -= value.text_size;
    return value.text();
  }

  bool is_exhausted() const { return work_left_ < 0; }
  /// Whether items were left out because there are too many; then it is exhausted, too.
  bool is_full() const { return is_full_; }

  /// All containers of a file of so many bytes together hold no more: 256 MiB, or about five times
  /// its size up to 1 GiB. Frames that no stacks share take three bytes a value at least.
  static constexpr std::size_t most_items_of(std::size_t bytes) {
    constexpr std::size_t kBytesOfItem = 3;
    return std::clamp(bytes / kBytesOfItem, std::size_t{1} << 24, std::size_t{1} << 26);
  }

  std::size_t most_items() const { return most_items_; }

 private:
  // Genuine dumps take one or two a byte.
  static constexpr std::int64_t kWorkOfByte = 30;
  static constexpr std::int64_t kLeastWork = 1'000'000;

  struct Container {
    std::uint32_t first;  // index into items_
    std::uint32_t size;
    std::uint32_t room;
    Shape shape;
  };

  void append_more(Container& to, std::span<const PlainValue> added) {
    const std::size_t size = to.size + added.size();
    if (size > to.room) {
      if (2 * size > most_items_ - items_.size()) {
        work_left_ = -1;
        is_full_ = true;
        return;
      }
      to.room = static_cast<std::uint32_t>(2 * size);
      to.first = static_cast<std::uint32_t>(items_.move_to_end(to.first, to.size, to.room));
    }
    std::copy(added.begin(), added.end(), items_.begin() + to.first + to.size);
    to.size = static_cast<std::uint32_t>(size);
  }

  [[gnu::noinline]] PlainValue find(const Container& dict, const PlainKey& key) const {
    const PlainValue* const pairs = items_.begin() + dict.first;
    for (std::uint32_t at = dict.size & ~1U; at > 0; at -= 2) {
      --work_left_;
      if (pairs[at - 2].kind == Kind::kText && pairs[at - 2].text() == key.name_) {
        key.shape_ = dict.shape;
        key.pair_ = at / 2 - 1;
        return pairs[at - 1];
      }
    }
    return {};
  }
  std::span<const PlainValue> span_of(const PlainValue& container) const {
    const Container& found = containers_[static_cast<std::size_t>(container.number)];
    return {items_.begin() + found.first, found.size};
  }
  std::span<const PlainValue> items(const PlainValue& container) const {
    const auto all = work_left_ < 0 ? std::span<const PlainValue>() : span_of(container);
    work_left_ -= static_cast<std::int64_t>(all.size());
    return all;
  }

  ValueStack items_;
  std::vector<Container> containers_;
  mutable std::int64_t work_left_ = 0;
  std::size_t most_items_ = 0;
  bool is_full_ = false;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PICKLE_PLAIN_TREE_H
