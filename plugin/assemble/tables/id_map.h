// SPDX-License-Identifier: Apache-2.0
//
// A map from ids (never 0) to values that come and go often. A value keeps its address until it is
// erased. Freed memory is used again, the last freed first. Iterators go from the oldest value to
// the newest. Used by one thread.
//
// With many values, cache misses set the time of a look-up, so it touches little memory. The table
// uses open addressing. A cache line holds eight cells, each with a part of an id's hash, and
// successive ids share a line. The order of age is stored apart from the values. Callers can
// prefetch what they will look up soon.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ID_MAP_H
#define RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ID_MAP_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace ringside::assemble {

template <typename Value>
class IdMap {
 public:
  IdMap() = default;
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;
  ~IdMap() { clear(); }

  /// Goes from a value to the newest. Valid until the current value is erased.
  class Iterator {
   public:
    explicit operator bool() const { return place_ != kNone; }
    std::uint64_t id() const { return map_->node(place_).id; }
    const Value& value() const { return map_->node(place_).value(); }
    void next() { place_ = map_->ages_[place_].newer; }
    void fetch() const { map_->fetch_lines(map_->node(place_)); }

   private:
    friend class IdMap;
    Iterator(const IdMap& map, std::uint32_t place) : map_(&map), place_(place) {}
    const IdMap* map_;
    std::uint32_t place_;
  };

  std::size_t size() const { return size_; }

  Value* find(std::uint64_t id) {
    const std::uint32_t place = place_of(id);
    return place != kNone ? &node(place).value() : nullptr;
  }
  const Value* find(std::uint64_t id) const {
    const std::uint32_t place = place_of(id);
    return place != kNone ? &node(place).value() : nullptr;
  }
  bool contains(std::uint64_t id) const { return place_of(id) != kNone; }

  /// Prefetches the cache line that a look-up of the id reads first.
  void fetch(std::uint64_t id) const {
    if (!lines_.empty()) {
      __builtin_prefetch(&cell(home(hash_of(id))));
    }
  }
  /// Prefetches the value too, if there is one. Waits for the line that fetch() prefetches.
  void fetch_value(std::uint64_t id) const {
    const std::uint32_t place = place_of(id);
    if (place == kNone) {
      return;
    }
    __builtin_prefetch(&ages_[place], 1);
    fetch_lines(node(place));
  }

  /// Makes the newest value, in place, of `from`. Erases an earlier value of the same id.
  template <typename... From>
  Value& insert(std::uint64_t id, From&&... from) {
    if ((size_ + 1) * kCellsEach > lines_.size() * kCellsInLine) {
      grow();
    }
    if (free_ == kNone) {
      add_block();
    }
    const std::uint32_t hash = hash_of(id);
    std::size_t at = search(id, hash);
    if (cell(at).place != kNone) {
      erase(id);
      at = search(id, hash);
    }
    const std::uint32_t place = free_;
    Node& made = node(place);
    Value& value = *new (made.memory) Value{std::forward<From>(from)...};
    made.id = id;
    free_ = ages_[place].newer;
    ages_[place] = {newest_, kNone};
    (newest_ != kNone ? ages_[newest_].newer : oldest_) = place;
    newest_ = place;
    cell(at) = {hash, place};
    ++size_;
    return value;
  }

  bool erase(std::uint64_t id) {
    if (lines_.empty()) {
      return false;
    }
    std::size_t at = search(id, hash_of(id));
    const std::uint32_t place = cell(at).place;
    if (place == kNone) {
      return false;
    }
    const Age age = ages_[place];
    (age.older != kNone ? ages_[age.older].newer : oldest_) = age.newer;
    (age.newer != kNone ? ages_[age.newer].older : newest_) = age.older;
    node(place).value().~Value();
    ages_[place].newer = free_;
    free_ = place;
    --size_;
    // Later cells move into the gap, so that a search can end at the first empty cell.
    for (std::size_t next = (at + 1) & mask(); cell(next).place != kNone;
         next = (next + 1) & mask()) {
      if (((next - home(cell(next).hash)) & mask()) >= ((next - at) & mask())) {
        cell(at) = cell(next);
        at = next;
      }
    }
    cell(at) = {};
    return true;
  }

  void clear() {
    for (std::uint32_t place = oldest_; place != kNone; place = ages_[place].newer) {
      node(place).value().~Value();
    }
    std::vector<Line>().swap(lines_);
    std::vector<std::unique_ptr<Block>>().swap(blocks_);
    std::vector<Age>().swap(ages_);
    free_ = oldest_ = newest_ = kNone;
    size_ = 0;
  }

  /// An iterator at the oldest value; false if there is none.
  Iterator oldest() const { return Iterator(*this, oldest_); }
  /// An iterator at the value of an id; false if there is none.
  Iterator from(std::uint64_t id) const { return Iterator(*this, place_of(id)); }

 private:
  static constexpr std::size_t kLine_bytes = 64;
  static constexpr std::size_t kCellsInLine = 8;
  static constexpr std::size_t kCellsEach = 3;  // cells for each value, at least
  static constexpr std::size_t kBlock = 256;
  static constexpr std::uint32_t kNone = 0;  // places begin with 1

  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t place = kNone;
  };
  struct alignas(kLine_bytes) Line {
    std::array<Cell, kCellsInLine> cells;
  };
  // A node begins on a cache line, so that its value spans as few lines as possible.
  struct alignas(kLine_bytes) Node {
    std::uint64_t id;
    alignas(Value) std::byte memory[sizeof(Value)];  // holds a value, unless the node is free
    Value& value() { return *std::launder(reinterpret_cast<Value*>(memory)); }
    const Value& value() const { return *std::launder(reinterpret_cast<const Value*>(memory)); }
  };
  using Block = std::array<Node, kBlock>;
  struct Age {
    std::uint32_t older = kNone;
    std::uint32_t newer = kNone;  // the next free place, while this one is free
  };

  // Ids count up within a ring, as the numbers of operations do. Eight successive ids stay together
  // in a line; Fibonacci hashing spreads the groups. The bits above the ring distinguish no events.
  static std::uint32_t hash_of(std::uint64_t id) {
    const std::uint64_t eight = (id << 13) >> 16;
    return (static_cast<std::uint32_t>((eight * 0x9E3779B97F4A7C15U) >> 32) & ~7U) |
           static_cast<std::uint32_t>(id & 7);
  }
  std::size_t home(std::uint32_t hash) const {
    return (std::size_t{hash >> shift_} * kCellsInLine) | (hash & 7);
  }
  std::size_t mask() const { return lines_.size() * kCellsInLine - 1; }
  Cell& cell(std::size_t at) { return lines_[at / kCellsInLine].cells[at % kCellsInLine]; }
  const Cell& cell(std::size_t at) const {
    return lines_[at / kCellsInLine].cells[at % kCellsInLine];
  }
  Node& node(std::uint32_t place) { return (*blocks_[place / kBlock])[place % kBlock]; }
  const Node& node(std::uint32_t place) const { return (*blocks_[place / kBlock])[place % kBlock]; }

  static void fetch_lines(const Node& node) {
    const auto* const at = reinterpret_cast<const std::byte*>(&node);
    for (std::size_t line = 0; line < sizeof(Node); line += kLine_bytes) {
      __builtin_prefetch(at + line, 1);
    }
  }

  // The cell of an id, or the empty cell where the id would go.
  std::size_t search(std::uint64_t id, std::uint32_t hash) const {
    std::size_t at = home(hash);
    for (;; at = (at + 1) & mask()) {
      const Cell& found = cell(at);
      if (found.place == kNone || (found.hash == hash && node(found.place).id == id)) {
        return at;
      }
    }
  }
  std::uint32_t place_of(std::uint64_t id) const {
    return lines_.empty() ? kNone : cell(search(id, hash_of(id))).place;
  }
  void grow() {
    std::vector<Line> made(lines_.empty() ? kBlock / kCellsInLine : lines_.size() * 2);
    lines_.swap(made);
    shift_ = 32 - std::countr_zero(lines_.size());
    for (const Line& line : made) {
      for (const Cell& moved : line.cells) {
        if (moved.place == kNone) {
          continue;
        }
        std::size_t at = home(moved.hash);
        while (cell(at).place != kNone) {
          at = (at + 1) & mask();
        }
        cell(at) = moved;
      }
    }
  }
  void add_block() {
    ages_.resize((blocks_.size() + 1) * kBlock);
    blocks_.push_back(std::make_unique_for_overwrite<Block>());
    const std::size_t first = (blocks_.size() - 1) * kBlock;
    for (std::size_t place = first + kBlock; place-- > first;) {
      if (place != kNone) {
        ages_[place].newer = free_;
        free_ = static_cast<std::uint32_t>(place);
      }
    }
  }

  std::vector<Line> lines_;  // their number is a power of two
  int shift_ = 0;            // makes the index of a line from a hash
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Age> ages_;  // by place
  std::uint32_t free_ = kNone;
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::size_t size_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ID_MAP_H
