// SPDX-License-Identifier: Apache-2.0
//
// The operations of one file, about 15 bytes each: what changes from one to the next is kept packed
// for each, and what many have in common (function, size, algorithm, ...) once for all that have
// it.
#ifndef RINGSIDE_ANALYZER_MODEL_OPERATIONS_H
#define RINGSIDE_ANALYZER_MODEL_OPERATIONS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/model/operation.h"
#include "analyzer/model/packed_table.h"

namespace ringside::model {

/// A sequence of operations that are given and taken as values. The greatest unsigned and the least
/// signed number stand for "absent" within; neither can be a value of an operation of a trace.
class Operations {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Operation;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Operation;

    Iterator(const Operations& operations, std::size_t index)
        : operations_(&operations), index_(index) {}
    Operation operator*() const { return (*operations_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Operations* operations_;
    std::size_t index_;
  };

  /// Returns a number of what it may have in common with others, for push_back_like().
  std::uint32_t push_back(const Operation& operation);
  /// Adds one that differs from an earlier one in numbers and times alone, which takes less time.
  /// `like` is what push_back() returned for that one.
  void push_back_like(std::uint32_t like, const Operation& operation);
  /// Replaces one.
  void set(std::size_t index, const Operation& operation);
  /// Moves those of `other` to the end; names[id] is the name that its `id` has here.
  void append(Operations&& other, std::span<const NameId> names);
  /// Likewise where both have the same names.
  void append(Operations&& other);

  /// Returns a part of them, with what these have in common alone. `begin` is a multiple of
  /// kBlockRows.
  Operations slice(std::size_t begin, std::size_t end) const;
  static constexpr std::size_t kBlockRows = 128;

  /// Returns the members that they have in common, all but numbers and times, by shape().
  std::vector<Operation> shapes() const;
  /// Appends their numbers and times as they lie in memory (docs/dev/partial-format.md).
  void append_packed(std::string& bytes) const { rows_.append_packed(bytes); }
  /// Becomes what append_packed() made of so many of these shapes, which is all of `bytes`. False
  /// if it is not such; then nothing else may be done with them. Adds to `doubtful` those of whose
  /// start_ns and end_ns it is not sure that both are known, none negative, and in their order.
  bool take_packed(std::span<const Operation> shapes, std::size_t rows, std::string_view bytes,
                   std::vector<std::size_t>& doubtful);

  Operation operator[](std::size_t index) const;
  Execution execution(std::size_t index) const;
  Terms terms(std::size_t index) const;
  CallIdentity call(std::size_t index) const;
  /// A number of what it may have in common with others: all but its numbers and times.
  std::uint32_t shape(std::size_t index) const;
  /// Parts of it, for what sorts many.
  std::uint32_t context(std::size_t index) const;
  /// When it was called; where that is not known, when it began.
  OptionalNumber<std::int64_t> call_time_ns(std::size_t index) const;
  std::int64_t call_ns(std::size_t index) const { return call_time_ns(index).value_or(0); }
  std::uint64_t id(std::size_t index) const;
  std::optional<std::uint64_t> group(std::size_t index) const;
  /// Begin to bring an operation into this core's cache: what tells where it is, and, some time
  /// later, the operation.
  void fetch_place(std::size_t index) const {
    rows_.fetch_place(index);
    __builtin_prefetch(shapes_.data());
  }
  void fetch_row(std::size_t index) const { rows_.fetch_row(index); }

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return size() == 0; }
  /// The least and the greatest of all their times; nothing if they have none.
  std::optional<std::pair<std::int64_t, std::int64_t>> extent_ns() const { return extent_ns_; }
  /// By context, the process group of its first call that has one.
  std::map<std::uint32_t, NameId> process_groups() const;
  /// False only if none was sampled out.
  bool may_have_sampled_out() const;
  /// False only if nothing tells who called any of them.
  bool may_have_callers() const;
  /// False only if none is in flight.
  bool may_have_in_flight() const;
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  // Columns of a row: what is asked for most often comes first.
  enum Column : std::size_t {
    kEnqueueStart,
    kStart,
    kEnd,
    kEnqueueEnd,
    kShape,
    kId,
    kSeq,
    kGroup,
    kTorchSeq
  };
  using Rows = PackedTable<std::array<std::size_t, 9>{
      kEnqueueStart, kEnqueueStart, kStart, kEnqueueStart, kShape, kId, kSeq, kGroup, kTorchSeq}>;
  using Row = Rows::Row;
  static_assert(kBlockRows == Rows::kBlockRows);

  struct Shape {
    // The members of an execution come first, so that few lines of a cache have them.
    std::uint64_t bytes;
    std::uint32_t context;
    std::uint32_t root;
    std::uint32_t peer;
    std::uint32_t gpu_rejected;
    Kind kind;
    TimesFrom times_from;
    State state;
    bool in_flight;
    bool graph;
    bool gpu_polled;
    bool start_is_latest;
    bool sampled_out;
    std::uint64_t count;
    std::int64_t surplus;
    std::uint64_t window;
    std::uint64_t sample_of;
    std::uint32_t channels;
    NameId func;
    NameId datatype;
    NameId algo;
    NameId proto;
    NameId stream;
    NameId user_tag;
    NameId called_by;
    NameId process_group;
    std::uint32_t tid;

    bool operator==(const Shape& other) const;
  };

  void extend(std::int64_t from_ns, std::int64_t to_ns);
  void extend(const Row& row);
  bool tells_times(std::size_t block) const;
  static Operation operation_of(const Shape& shape);
  static Shape shape_of(const Operation& operation);
  static std::uint64_t hash(const Shape& shape);
  Row row_of(const Operation& operation, std::uint32_t shape);
  std::uint32_t intern(const Shape& shape);
  std::uint32_t find_or_add(const Shape& shape);
  void rebuild_index(std::size_t size);

  Rows rows_;
  std::optional<std::pair<std::int64_t, std::int64_t>> extent_ns_;
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> after_;  // by shape: which one came behind it, the last time
  std::uint32_t last_shape_ = 0;
  std::vector<std::uint32_t> index_;  // hash table: 0 is free, else 1 + index into shapes_
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_OPERATIONS_H
