// SPDX-License-Identifier: Apache-2.0
//
// A map from ids (never 0) to values, for much coming and going: cells of id and place in an open
// table, values in blocks that are used again. A value keeps its address until it is erased. Walks
// go from the oldest value to the newest. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ID_MAP_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ID_MAP_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ringside::assemble {

template <typename Value>
class IdMap {
 public:
  struct Node {
    std::uint64_t id = 0;
    Node* older = nullptr;
    Node* newer = nullptr;  ///< while free: the next free one
    Value value{};
  };

  std::size_t size() const { return size_; }

  Value* find(std::uint64_t id) {
    Node* const node = node_of(id);
    return node != nullptr ? &node->value : nullptr;
  }
  const Value* find(std::uint64_t id) const {
    const Node* const node = node_of(id);
    return node != nullptr ? &node->value : nullptr;
  }
  bool contains(std::uint64_t id) const { return node_of(id) != nullptr; }

  /// The value of an id, which becomes the newest; an earlier one of the same id is replaced.
  Value& insert(std::uint64_t id, Value value) {
    erase(id);
    if ((size_ + 1) * 2 > cells_.size()) {
      grow();
    }
    Node* const node = take_node();
    node->id = id;
    node->value = std::move(value);
    node->older = newest_;
    node->newer = nullptr;
    (newest_ != nullptr ? newest_->newer : oldest_) = node;
    newest_ = node;
    place({id, node});
    ++size_;
    return node->value;
  }

  bool erase(std::uint64_t id) {
    std::size_t at = cell_of(id);
    if (at == kNowhere) {
      return false;
    }
    Node* const node = cells_[at].node;
    (node->older != nullptr ? node->older->newer : oldest_) = node->newer;
    (node->newer != nullptr ? node->newer->older : newest_) = node->older;
    node->value = Value{};
    node->newer = free_;
    free_ = node;
    --size_;
    // Cells behind the gap move up, so that a search never has to pass an empty one.
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t next = (at + 1) & mask; cells_[next].id != 0; next = (next + 1) & mask) {
      if (((next - home(cells_[next].id)) & mask) >= ((next - at) & mask)) {
        cells_[at] = cells_[next];
        at = next;
      }
    }
    cells_[at] = {};
    return true;
  }

  void clear() { *this = IdMap(); }

  /// For walks, from Node to Node::newer; NULL if empty.
  const Node* oldest() const { return oldest_; }
  /// Where a walk can begin as well; NULL if the id is not there.
  const Node* node(std::uint64_t id) const { return node_of(id); }

 private:
  struct Cell {
    std::uint64_t id = 0;
    Node* node = nullptr;
  };
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  // Ids count up, in each ring: Fibonacci hashing spreads them and keeps rings apart.
  std::size_t home(std::uint64_t id) const {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15U) >> shift_);
  }
  std::size_t cell_of(std::uint64_t id) const {
    if (cells_.empty() || id == 0) {
      return kNowhere;
    }
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t at = home(id);; at = (at + 1) & mask) {
      if (cells_[at].id == id) {
        return at;
      }
      if (cells_[at].id == 0) {
        return kNowhere;
      }
    }
  }
  Node* node_of(std::uint64_t id) const {
    const std::size_t at = cell_of(id);
    return at != kNowhere ? cells_[at].node : nullptr;
  }
  void place(Cell cell) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = home(cell.id);
    while (cells_[at].id != 0) {
      at = (at + 1) & mask;
    }
    cells_[at] = cell;
  }
  void grow() {
    std::vector<Cell> made(cells_.empty() ? kBlock : cells_.size() * 2);
    cells_.swap(made);
    shift_ = 64;
    for (std::size_t cells = cells_.size(); cells > 1; cells /= 2) {
      --shift_;
    }
    for (const Cell& cell : made) {
      if (cell.id != 0) {
        place(cell);
      }
    }
  }
  Node* take_node() {
    if (free_ == nullptr) {
      blocks_.push_back(std::make_unique<std::array<Node, kBlock>>());
      for (Node& node : *blocks_.back()) {
        node.newer = free_;
        free_ = &node;
      }
    }
    Node* const node = free_;
    free_ = node->newer;
    return node;
  }

  std::vector<Cell> cells_;  // a power of two, at most half of them in use
  int shift_ = 64;
  std::vector<std::unique_ptr<std::array<Node, kBlock>>> blocks_;
  Node* free_ = nullptr;
  Node* oldest_ = nullptr;
  Node* newest_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ID_MAP_H
