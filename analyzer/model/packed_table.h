// SPDX-License-Identifier: Apache-2.0
//
// Rows of numbers, in as few bits as the numbers of neighbouring rows differ by.
#ifndef RINGSIDE_ANALYZER_MODEL_PACKED_TABLE_H
#define RINGSIDE_ANALYZER_MODEL_PACKED_TABLE_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ringside::model {

/// A sequence of rows; kRelativeTo.size() columns. A column whose numbers are near those of a
/// column before it has that column's index in kRelativeTo, any other one its own index. Any
/// numbers come out as they were put in.
template <auto kRelativeTo>
class PackedTable {
 public:
  static constexpr std::size_t kColumns = kRelativeTo.size();
  /// A number that stands for "absent": it may be anywhere and takes no more bits.
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
  using Row = std::array<std::int64_t, kColumns>;

  void push_back(const Row& row) {
    if (tail_.capacity() == 0) {
      tail_.reserve(kBlockRows);
    }
    tail_.push_back(row);
    if (tail_.size() == kBlockRows) {
      blocks_.push_back(pack(tail_));
      tail_.clear();
    }
  }

  /// Replaces a row. This takes as long as all rows of a block.
  void set(std::size_t index, const Row& row) {
    if (index / kBlockRows == blocks_.size()) {
      tail_[index % kBlockRows] = row;
      return;
    }
    Block& block = blocks_[index / kBlockRows];
    std::vector<Row> rows;
    for (std::size_t i = 0; i < kBlockRows; ++i) {
      rows.push_back(read(block, i, std::make_index_sequence<kColumns>()));
    }
    rows[index % kBlockRows] = row;
    block = pack(rows);
  }

  /// Takes out all rows but the first `size`.
  void truncate(std::size_t size) {
    std::vector<Row> last;
    for (std::size_t i = size / kBlockRows * kBlockRows; i < size; ++i) {
      last.push_back(first(i));
    }
    blocks_.resize(size / kBlockRows);
    tail_ = std::move(last);
  }

  /// Returns the first kCount columns of a row.
  template <std::size_t kCount = kColumns>
  Row first(std::size_t index) const {
    const std::size_t block = index / kBlockRows;
    return block == blocks_.size()
               ? tail_[index % kBlockRows]
               : read(blocks_[block], index % kBlockRows, std::make_index_sequence<kCount>());
  }

  /// Returns one number.
  template <std::size_t kColumn>
  std::int64_t at(std::size_t index) const {
    static_assert(kRelativeTo[kColumn] == kColumn, "read it with the column that it rests on");
    const std::size_t block = index / kBlockRows;
    if (block == blocks_.size()) {
      return tail_[index % kBlockRows][kColumn];
    }
    return read(blocks_[block], index % kBlockRows, std::index_sequence<kColumn>())[kColumn];
  }

  /// Begins to bring a row into this core's cache: first what tells where it is, and then, some
  /// time later, the row. Does nothing to the numbers.
  void fetch_place(std::size_t index) const {
    if (index / kBlockRows < blocks_.size()) {
      const auto* const place = reinterpret_cast<const std::byte*>(&blocks_[index / kBlockRows]);
      __builtin_prefetch(place);
      __builtin_prefetch(place + kCacheLine);
    }
  }
  void fetch_row(std::size_t index) const {
    if (index / kBlockRows < blocks_.size()) {
      const Block& block = blocks_[index / kBlockRows];
      const std::byte* const row = block.bytes.data() + index % kBlockRows * block.row_bits / 8;
      __builtin_prefetch(row);
      __builtin_prefetch(row + kCacheLine);
    }
  }

  std::size_t size() const { return blocks_.size() * kBlockRows + tail_.size(); }

  /// Takes all rows of `other`, in any order between those of both.
  void take(PackedTable&& other) {
    blocks_.insert(blocks_.end(), std::make_move_iterator(other.blocks_.begin()),
                   std::make_move_iterator(other.blocks_.end()));
    for (const Row& row : other.tail_) {
      push_back(row);
    }
    other = {};
  }

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(blocks_, tail_);
  }

 private:
  static constexpr std::size_t kBlockRows = 128;
  static constexpr std::size_t kCacheLine = 64;
  // So many bits are within the eight bytes that hold the first of them.
  static constexpr unsigned kMostBits = 57;

  /// `bits`: kMostBits at most.
  static std::uint64_t all_ones(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

  struct Column {
    std::int64_t least = 0;
    std::uint16_t offset_bits = 0;
    std::uint8_t bits = 64;   // 0: all rows have the same
    bool has_absent = false;  // all bits set stand for it
  };

  // Its first two cache lines have all that most readers need.
  struct alignas(kCacheLine) Block {
    std::vector<std::byte> bytes;
    std::uint32_t row_bits = 0;            // 0: the rows are stored as they are
    std::array<Column, kColumns> columns;  // the last are read least

    template <typename Archive>
    void transfer(Archive& archive) {
      archive(columns, bytes, row_bits);
    }

    // `at_bit` is where its row begins.
    [[gnu::always_inline]] std::int64_t number(std::size_t at_bit, std::size_t column,
                                               std::int64_t base) const {
      const Column& packed = columns[column];
      at_bit += packed.offset_bits;
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at_bit / 8, sizeof(word));
      const std::uint64_t mask = all_ones(packed.bits);
      const std::uint64_t code = word >> (at_bit % 8) & mask;
      if (packed.has_absent && code == mask) {
        return kAbsent;
      }
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(packed.least) + code +
                                       static_cast<std::uint64_t>(base));
    }
  };

  [[gnu::always_inline]] static std::int64_t base_of(const Row& row, std::size_t column) {
    const std::size_t other = kRelativeTo[column];
    return other == column || row[other] == kAbsent ? 0 : row[other];
  }

  // Wraps, as the sum does that brings the number back.
  static std::int64_t difference(const Row& row, std::size_t column) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(row[column]) -
                                     static_cast<std::uint64_t>(base_of(row, column)));
  }

  // Spelled out for each column, since most of the analysis's time would be that of a loop.
  template <std::size_t... kRead>
  static Row read(const Block& block, std::size_t index, std::index_sequence<kRead...> /*which*/) {
    Row row;
    if (block.row_bits == 0) {
      std::memcpy(row.data(), block.bytes.data() + index * sizeof(row), sizeof(row));
      return row;
    }
    const std::size_t at_bit = index * block.row_bits;
    ((row[kRead] = block.number(at_bit, kRead, base_of(row, kRead))), ...);
    return row;
  }

  // Nothing if it takes more bits than are read at once.
  static bool measure(std::span<const Row> rows, std::size_t index, Column& column) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    column.has_absent = false;
    for (const Row& row : rows) {
      if (row[index] == kAbsent) {
        column.has_absent = true;
        continue;
      }
      least = std::min(least, difference(row, index));
      most = std::max(most, difference(row, index));
    }
    const std::uint64_t range =
        least > most ? 0 : static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    column.least = least;
    const std::size_t bits =
        static_cast<std::size_t>(std::bit_width(range)) + (column.has_absent ? 1 : 0);
    column.bits = static_cast<std::uint8_t>(least > most ? 0 : bits);
    return column.bits <= kMostBits;
  }

  static Block pack(std::span<const Row> rows) {
    Block block;
    bool is_packed = true;
    for (std::size_t i = 0; i < kColumns; ++i) {
      is_packed = measure(rows, i, block.columns[i]) && is_packed;
      block.columns[i].offset_bits = static_cast<std::uint16_t>(block.row_bits);
      block.row_bits += block.columns[i].bits;
    }
    if (!is_packed) {
      block.row_bits = 0;
      block.bytes.resize(rows.size_bytes());
      std::memcpy(block.bytes.data(), rows.data(), rows.size_bytes());
      return block;
    }
    block.row_bits = std::max(block.row_bits, 1U);
    // Eight bytes are read at once, also of the last number.
    block.bytes.resize(rows.size() * block.row_bits / 8 + sizeof(std::uint64_t));
    std::byte* out = block.bytes.data();
    std::uint64_t word = 0;  // is written once it is full
    unsigned filled = 0;     // bits of it
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < kColumns; ++i) {
        const Column& column = block.columns[i];
        const std::uint64_t code = row[i] == kAbsent
                                       ? all_ones(column.bits)
                                       : static_cast<std::uint64_t>(difference(row, i)) -
                                             static_cast<std::uint64_t>(column.least);
        word |= code << filled;
        filled += column.bits;
        if (filled >= 64) {
          std::memcpy(out, &word, sizeof(word));
          out += sizeof(word);
          filled -= 64;
          word = filled == 0 ? 0 : code >> (column.bits - filled);
        }
      }
    }
    std::memcpy(out, &word, sizeof(word));
    return block;
  }

  std::vector<Block> blocks_;
  std::vector<Row> tail_;  // fewer than a block
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PACKED_TABLE_H
