// SPDX-License-Identifier: Apache-2.0
//
// A set of ids (never 0) that is filled once and searched often, with a single allocation. Ids of
// rows (row_id() in rows.h) of successive events share a cache line. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ID_SET_H
#define RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ID_SET_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugin/record/handle.h"

namespace ringside::assemble {

class IdSet {
 public:
  /// Makes room for `most` ids; no more may be added.
  explicit IdSet(std::size_t most)
      : cells_(std::bit_ceil(2 * most + 2 * kTogether)),
        shift_(64 - std::countr_zero(cells_.size() / kTogether)) {}

  void insert(std::uint64_t id) { cells_[cell_of(id)] = id; }
  bool contains(std::uint64_t id) const { return cells_[cell_of(id)] != 0; }

 private:
  static constexpr std::size_t kTogether = 8;

  // The cell of the id, or the free cell for it. Half of the cells are free, so the search ends.
  std::size_t cell_of(std::uint64_t id) const {
    const std::uint64_t counting = std::rotr(id, record::kRingBits);
    const std::uint64_t hash = (counting / kTogether) * 0x9E3779B97F4A7C15U;
    auto at = static_cast<std::size_t>(hash >> shift_) * kTogether + counting % kTogether;
    while (cells_[at] != id && cells_[at] != 0) {
      at = (at + 1) & (cells_.size() - 1);
    }
    return at;
  }

  std::vector<std::uint64_t> cells_;  // their number is a power of two; 0: free
  int shift_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ID_SET_H
