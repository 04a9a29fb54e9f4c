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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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
  static constexpr std::size_t kBlockRows = 128;
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

  /// Replaces a row. This takes as long as all rows of a block where its columns are too narrow.
  void set(std::size_t index, const Row& row) {
    if (index / kBlockRows == blocks_.size()) {
      tail_[index % kBlockRows] = row;
      return;
    }
    Block& block = blocks_[index / kBlockRows];
    write(block, index % kBlockRows, row);
    if (read(block, index % kBlockRows, std::make_index_sequence<kColumns>()) == row) {
      return;
    }
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

  /// Calls take(number) with each number of a column, which takes less time than to ask for each.
  template <std::size_t kColumn, typename Take>
  void visit(const Take& take) const {
    for (const Block& block : blocks_) {
      for (std::size_t i = 0; i < kBlockRows; ++i) {
        take(read(block, i, typename ReadFor<kColumn>::Columns())[kColumn]);
      }
    }
    for (const Row& row : tail_) {
      take(row[kColumn]);
    }
  }

  /// Begins to bring a row into this core's cache: where it is, and, some time later, the row.
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

  /// Returns a part of it. `begin` is a multiple of kBlockRows.
  PackedTable slice(std::size_t begin, std::size_t end) const {
    PackedTable part;
    const std::size_t whole =
        std::max(std::min(blocks_.size(), end / kBlockRows), begin / kBlockRows);
    for (std::size_t i = begin / kBlockRows; i < whole; ++i) {
      part.blocks_.push_back(blocks_[i]);
    }
    for (std::size_t i = whole * kBlockRows; i < end; ++i) {
      part.push_back(first(i));
    }
    return part;
  }

  /// Appends all rows as they lie in memory: for each block, which but for the last one has
  /// kBlockRows, its columns, and its bits.
  void append_packed(std::string& bytes) const {
    for (const Block& block : blocks_) {
      append_block(block, bytes);
    }
    if (!tail_.empty()) {
      append_block(pack(tail_), bytes);
    }
  }

  /// Becomes what append_packed() made of so many rows, which is all of `bytes`. False if they are
  /// not such; then nothing else may be done with it.
  bool take_packed(std::size_t rows, std::string_view bytes) {
    *this = {};
    // A block has this many at least, so that rows that are not there take no memory.
    if (rows / kBlockRows > bytes.size() / kColumns) {
      return false;
    }
    blocks_.reserve(rows / kBlockRows);
    for (std::size_t left = rows; left > 0; left -= std::min(left, kBlockRows)) {
      Block block;
      if (!take_block(std::min(left, kBlockRows), bytes, block)) {
        return false;
      }
      if (left >= kBlockRows) {
        blocks_.push_back(std::move(block));
        continue;
      }
      tail_.reserve(kBlockRows);
      for (std::size_t i = 0; i < left; ++i) {
        tail_.push_back(read(block, i, std::make_index_sequence<kColumns>()));
      }
    }
    return bytes.empty();
  }

  /// All numbers of a column in one block are within these, or absent.
  struct Bounds {
    std::int64_t least = 0;
    std::int64_t most = 0;
    bool has_absent = false;
    std::int64_t least_difference = 0;  // to what the column rests on; to 0, if that is itself
  };
  std::size_t whole_blocks() const { return blocks_.size(); }
  /// Nothing if the columns do not tell; the bounds may be wider than the numbers.
  template <std::size_t kColumn>
  std::optional<Bounds> bounds(std::size_t block) const {
    const Column& column = blocks_[block].columns[kColumn];
    Bounds bounds{column.least, column.least, column.has_absent, column.least};
    const auto range = static_cast<std::int64_t>(all_ones(std::min(column.bits, kMostBits)));
    if (blocks_[block].row_bits == 0 || __builtin_add_overflow(column.least, range, &bounds.most)) {
      return std::nullopt;
    }
    if constexpr (kRelativeTo[kColumn] != kColumn) {
      const auto base = this->bounds<kRelativeTo[kColumn]>(block);
      if (!base || base->has_absent ||
          __builtin_add_overflow(bounds.least, base->least, &bounds.least) ||
          __builtin_add_overflow(bounds.most, base->most, &bounds.most)) {
        return std::nullopt;
      }
    }
    bounds.has_absent = bounds.has_absent || bounds.least == kAbsent;
    return bounds;
  }

 private:
  static constexpr std::size_t kCacheLine = 64;
  // So many bits are within the eight bytes that hold the first of them.
  static constexpr std::uint8_t kMostBits = 57;

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

  // A column, and what it rests on, which must rest on itself.
  template <std::size_t kColumn>
  struct ReadFor {
    static_assert(kRelativeTo[kRelativeTo[kColumn]] == kRelativeTo[kColumn]);
    using Columns =
        std::conditional_t<kRelativeTo[kColumn] == kColumn, std::index_sequence<kColumn>,
                           std::index_sequence<kRelativeTo[kColumn], kColumn>>;
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

  static void measure(std::span<const Row> rows, std::size_t index, Column& column) {
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
  }

  // Says where the numbers of its columns are, and makes room for so many rows.
  static void lay_out(std::size_t rows, Block& block) {
    bool is_packed = true;
    block.row_bits = 0;
    for (Column& column : block.columns) {
      is_packed = is_packed && column.bits <= kMostBits;
      column.offset_bits = static_cast<std::uint16_t>(block.row_bits);
      block.row_bits += column.bits;
    }
    // Eight bytes are read at once, also of the last number.
    block.row_bits = is_packed ? std::max(block.row_bits, 1U) : 0;
    block.bytes.resize(is_packed ? rows * block.row_bits / 8 + sizeof(std::uint64_t)
                                 : rows * sizeof(Row));
  }

  static void append_block(const Block& block, std::string& bytes) {
    for (const Column& column : block.columns) {
      bytes.append(reinterpret_cast<const char*>(&column.least), sizeof(column.least));
      bytes += static_cast<char>(column.bits);
      bytes += static_cast<char>(column.has_absent);
    }
    bytes.append(reinterpret_cast<const char*>(block.bytes.data()), block.bytes.size());
  }

  // Takes it from the front of `bytes`.
  static bool take_block(std::size_t rows, std::string_view& bytes, Block& block) {
    constexpr std::size_t kColumn_bytes = sizeof(Column::least) + 2;
    if (bytes.size() < kColumns * kColumn_bytes) {
      return false;
    }
    for (Column& column : block.columns) {
      std::memcpy(&column.least, bytes.data(), sizeof(column.least));
      column.bits = static_cast<std::uint8_t>(bytes[sizeof(column.least)]);
      column.has_absent = bytes[sizeof(column.least) + 1] != 0;
      bytes.remove_prefix(kColumn_bytes);
    }
    lay_out(rows, block);
    if (bytes.size() < block.bytes.size()) {
      return false;
    }
    std::memcpy(block.bytes.data(), bytes.data(), block.bytes.size());
    bytes.remove_prefix(block.bytes.size());
    return true;
  }

  static Block pack(std::span<const Row> rows) {
    Block block;
    for (std::size_t i = 0; i < kColumns; ++i) {
      measure(rows, i, block.columns[i]);
    }
    lay_out(rows.size(), block);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      write(block, i, rows[i]);
    }
    return block;
  }

  // Numbers that do not fit their columns come out as others.
  static void write(Block& block, std::size_t index, const Row& row) {
    if (block.row_bits == 0) {
      std::memcpy(block.bytes.data() + index * sizeof(row), row.data(), sizeof(row));
      return;
    }
    for (std::size_t i = 0; i < kColumns; ++i) {
      const Column& column = block.columns[i];
      const std::size_t at_bit = index * block.row_bits + column.offset_bits;
      std::uint64_t word = 0;
      std::memcpy(&word, block.bytes.data() + at_bit / 8, sizeof(word));
      const std::uint64_t mask = all_ones(column.bits);
      const std::uint64_t code = row[i] == kAbsent
                                     ? mask
                                     : static_cast<std::uint64_t>(difference(row, i)) -
                                           static_cast<std::uint64_t>(column.least);
      word = (word & ~(mask << (at_bit % 8))) | (code & mask) << (at_bit % 8);
      std::memcpy(block.bytes.data() + at_bit / 8, &word, sizeof(word));
    }
  }

  std::vector<Block> blocks_;
  std::vector<Row> tail_;  // fewer than a block
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PACKED_TABLE_H
