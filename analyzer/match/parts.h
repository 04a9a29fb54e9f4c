// SPDX-License-Identifier: Apache-2.0
//
// The operations of ranks that are one operation, in about two bytes for each of them.
#ifndef RINGSIDE_ANALYZER_MATCH_PARTS_H
#define RINGSIDE_ANALYZER_MATCH_PARTS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "analyzer/model/packed_table.h"

namespace ringside::match {

/// An operation as one rank recorded it.
struct Part {
  std::uint32_t member = 0;     // index into Communicator::members
  std::uint32_t file = 0;       // index into Traces::files
  std::uint32_t operation = 0;  // index into TraceFile::operations
};

/// A sequence of parts that are given and taken as values.
class Parts {
 public:
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Part;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Part;

    Iterator(const Parts& parts, std::size_t index) : parts_(&parts), index_(index) {}
    Part operator*() const { return (*parts_)[index_]; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator+(difference_type by) const { return Iterator(*this) += by; }
    Iterator& operator+=(difference_type by) {
      index_ += static_cast<std::size_t>(by);
      return *this;
    }
    difference_type operator-(const Iterator& other) const {
      return static_cast<difference_type>(index_ - other.index_);
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Parts* parts_;
    std::size_t index_;
  };

  /// Some that follow each other. The whole must outlive it.
  class Range {
   public:
    Range(const Parts& parts, std::size_t first, std::size_t count)
        : parts_(&parts), first_(first), count_(count) {}
    Part operator[](std::size_t index) const { return (*parts_)[first_ + index]; }
    Part front() const { return (*this)[0]; }
    std::size_t size() const { return count_; }
    Iterator begin() const { return {*parts_, first_}; }
    Iterator end() const { return {*parts_, first_ + count_}; }

   private:
    const Parts* parts_;
    std::size_t first_;
    std::size_t count_;
  };

  void push_back(const Part& part) { rows_.push_back({part.member, part.file, part.operation}); }
  /// Takes out all but the first `size`.
  void truncate(std::size_t size) { rows_.truncate(size); }

  Part operator[](std::size_t index) const {
    const auto row = rows_.first(index);
    return {static_cast<std::uint32_t>(row[0]), static_cast<std::uint32_t>(row[1]),
            static_cast<std::uint32_t>(row[2])};
  }
  /// The same, which takes less time where the part is kept: it is never put together elsewhere.
  void read(std::size_t index, Part& part) const {
    const auto row = rows_.first(index);
    part.member = static_cast<std::uint32_t>(row[0]);
    part.file = static_cast<std::uint32_t>(row[1]);
    part.operation = static_cast<std::uint32_t>(row[2]);
  }
  std::size_t size() const { return rows_.size(); }

 private:
  // In most jobs a rank is in the file of the same number.
  model::PackedTable<std::array<std::size_t, 3>{0, 0, 2}> rows_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_PARTS_H
