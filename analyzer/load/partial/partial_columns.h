// SPDX-License-Identifier: Apache-2.0
//
// Tables of a partial: each member of a row is a column of its own, in which a number is kept as
// the difference to the one before it, or to another member of its row that it is near. Differences
// are small and repeat, so that they compress well. docs/dev/partial-format.md has the bytes.
//
// Writer and reader have the same form, so that one function (partial_rows.h) describes a row for
// both.
#ifndef RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_COLUMNS_H
#define RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_COLUMNS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/model/operation.h"

namespace ringside::load {

/// Seven bits a byte, the low ones first; the highest bit says that another byte follows.
inline void append_number(std::uint64_t number, std::string& bytes) {
  for (; number >= 0x80; number >>= 7) {
    bytes += static_cast<char>(number | 0x80);
  }
  bytes += static_cast<char>(number);
}

/// Bytes that are read from start to end. Missing bytes read as 0, and are a failure.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return number;
      }
    }
    failed_ = true;
    return 0;
  }
  std::string_view text(std::uint64_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view text = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(text.size());
    return text;
  }

  std::size_t rest() const { return rest_.size(); }
  bool failed() const { return failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// A number of any kind as 64 bits, whose differences wrap.
template <typename T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(std::int64_t{value});
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <typename T>
constexpr std::uint64_t kGreatest = std::numeric_limits<T>::max();
template <>
inline constexpr std::uint64_t kGreatest<model::Kind> = std::uint64_t(model::Kind::kApi);
template <>
inline constexpr std::uint64_t kGreatest<model::TimesFrom> = model::kTimesFromCount - 1;
template <>
inline constexpr std::uint64_t kGreatest<model::State> = model::kStateCount - 1;

/// False if T has no such value.
template <typename T>
bool value_of(std::uint64_t bits, T& value) {
  value = static_cast<T>(bits);
  if constexpr (std::is_signed_v<T>) {
    return bits_of(value) == bits;
  } else {
    return bits <= kGreatest<T>;
  }
}

class ColumnWriter {
 public:
  static constexpr bool kReads = false;
  template <typename T>
  using Of = const T&;

  void begin_row() {
    ++rows_;
    at_ = 0;
  }
  /// Takes members that are near those of the row before.
  template <typename... T>
  void operator()(const T&... values) {
    (add(values), ...);
  }
  /// Takes members that are near others of the same row.
  template <typename T>
  void since(const T& value, std::uint64_t base) {
    add_difference(column().bytes, bits_of(value), base);
  }
  /// The same for a member that may not be known: presence() has told whether it is.
  template <typename T>
  void since(const std::optional<T>& value, std::uint64_t base) {
    Column& column = this->column();
    if (value) {
      add_difference(column.bytes, bits_of(*value), base);
    }
  }
  void name(model::NameId id) { append_number(id, column().bytes); }
  /// Takes only whether the value is known, not the value itself.
  template <typename T>
  void presence(const std::optional<T>& value) {
    append_number(value ? 1 : 0, column().bytes);
  }
  bool failed() const { return false; }

  void append_to(std::string& bytes) const {
    append_number(rows_, bytes);
    append_number(columns_.size(), bytes);
    for (const Column& column : columns_) {
      append_number(column.bytes.size(), bytes);
    }
    for (const Column& column : columns_) {
      bytes += column.bytes;
    }
  }

 private:
  struct Column {
    std::string bytes;
    std::uint64_t last = 0;
  };

  Column& column() {
    if (at_ == columns_.size()) {
      columns_.emplace_back();
    }
    return columns_[at_++];
  }
  static void add_difference(std::string& bytes, std::uint64_t value, std::uint64_t base) {
    const std::uint64_t difference = value - base;
    append_number(difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0), bytes);
  }
  template <typename T>
  static void add_to(Column& column, const T& value) {
    add_difference(column.bytes, bits_of(value), column.last);
    column.last = bits_of(value);
  }
  template <typename T>
  void add(const T& value) {
    add_to(column(), value);
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    presence(value);
    if constexpr (std::is_same_v<T, std::string>) {
      add(value.value_or(T()));
    } else {
      Column& column = this->column();
      if (value) {
        add_to(column, *value);
      }
    }
  }
  void add(const std::string& text) {
    append_number(text.size(), column().bytes);
    column().bytes += text;
  }

  std::vector<Column> columns_;
  std::size_t at_ = 0;
  std::uint64_t rows_ = 0;
};

/// Whatever the bytes are, what it gives fits its type.
class ColumnReader {
 public:
  static constexpr bool kReads = true;
  template <typename T>
  using Of = T&;

  explicit ColumnReader(ByteReader& bytes) {
    rows_ = bytes.number();
    const std::uint64_t columns = bytes.number();
    // Each row has a byte at least, and so has the size of each column.
    if (rows_ > bytes.rest() || columns > bytes.rest()) {
      failed_ = true;
      return;
    }
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(columns));
    for (std::uint64_t& size : sizes) {
      size = bytes.number();
    }
    for (const std::uint64_t size : sizes) {
      columns_.push_back({ByteReader(bytes.text(size)), 0});
    }
    failed_ = bytes.failed();
  }

  std::uint64_t rows() const { return rows_; }
  void begin_row() { at_ = 0; }
  template <typename... T>
  void operator()(T&... values) {
    (take(values), ...);
  }
  template <typename T>
  void since(T& value, std::uint64_t base) {
    check(value_of(take_difference(column(), base), value));
  }
  template <typename T>
  void since(std::optional<T>& value, std::uint64_t base) {
    Column& column = this->column();
    if (value) {
      check(value_of(take_difference(column, base), *value));
    }
  }
  void name(model::NameId& id) {
    check(value_of(take_number(column()), id));
    greatest_name_ = std::max(greatest_name_, id);
  }
  template <typename T>
  void presence(std::optional<T>& value) {
    const std::uint64_t is_known = take_number(column());
    check(is_known <= 1);
    value = is_known == 1 ? std::optional(T()) : std::nullopt;
  }
  void check(bool is_right) { failed_ = failed_ || !is_right; }

  bool failed() const { return failed_; }
  model::NameId greatest_name() const { return greatest_name_; }

 private:
  struct Column {
    ByteReader bytes;
    std::uint64_t last = 0;
  };

  Column& column() {
    if (at_ < columns_.size()) {
      return columns_[at_++];
    }
    failed_ = true;
    return none_;
  }
  std::uint64_t take_number(Column& column) {
    const std::uint64_t number = column.bytes.number();
    check(!column.bytes.failed());
    return number;
  }
  std::uint64_t take_difference(Column& column, std::uint64_t base) {
    const std::uint64_t number = take_number(column);
    return base + (number >> 1 ^ (number & 1 ? ~std::uint64_t{0} : 0));
  }
  template <typename T>
  void take_from(Column& column, T& value) {
    column.last = take_difference(column, column.last);
    check(value_of(column.last, value));
  }
  template <typename T>
  void take(T& value) {
    take_from(column(), value);
  }
  template <typename T>
  void take(std::optional<T>& value) {
    presence(value);
    if constexpr (std::is_same_v<T, std::string>) {
      std::string text;
      take(text);
      if (value) {
        value = std::move(text);
      }
    } else {
      Column& column = this->column();
      if (value) {
        take_from(column, *value);
      }
    }
  }
  void take(std::string& text) {
    const std::uint64_t size = take_number(column());
    Column& characters = column();
    text = characters.bytes.text(size);
    check(!characters.bytes.failed());
  }

  std::vector<Column> columns_;
  Column none_;
  std::size_t at_ = 0;
  std::uint64_t rows_ = 0;
  model::NameId greatest_name_ = 0;
  bool failed_ = false;
};

/// A T& of what reads, a const T& of what writes.
template <typename Archive, typename T>
using Of = typename Archive::template Of<T>;

/// A table of `rows`, each described by visit(archive, row).
template <typename Rows, typename Visit>
void write_table(const Rows& rows, std::string& bytes, Visit visit) {
  ColumnWriter writer;
  for (const auto& row : rows) {
    writer.begin_row();
    visit(writer, row);
  }
  writer.append_to(bytes);
}

/// Calls visit(archive) for each row of a table. False if it is damaged.
template <typename Visit>
bool read_table(ByteReader& bytes, Visit visit) {
  ColumnReader reader(bytes);
  for (std::uint64_t row = 0; row < reader.rows() && !reader.failed(); ++row) {
    reader.begin_row();
    visit(reader);
  }
  return !reader.failed();
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_COLUMNS_H
