// SPDX-License-Identifier: Apache-2.0
//
// What tells that the entries of a Flight Recorder dump are not where they were made.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_ORDER_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_ORDER_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ringside::load {

/// A number that is another entry's may be damage of that number, or the entry is not where it was
/// made. Two such numbers, or one beside times that go back, are no damage of one number: then
/// nothing tells which call was made after which.
class EntryOrder {
 public:
  /// `most`: no entry of the dump has a greater number.
  explicit EntryOrder(std::int64_t most = 0) : most_(most) {}

  /// Counts a number of an entry that does not fit there, if another entry may have it.
  void note_misplaced(std::optional<std::int64_t> told) {
    misplaced_ += told && *told >= 0 && *told <= most_ ? 1 : 0;
  }

  /// Calls follow each other as their records do, whatever the wall clock does: one that was set
  /// back stands still until it has come to where it was.
  std::int64_t in_order(std::int64_t created_ns) {
    is_set_back_ = is_set_back_ || created_ns < last_created_ns_;
    last_created_ns_ = std::max(last_created_ns_, created_ns);
    return last_created_ns_;
  }

  std::uint64_t misplaced() const { return misplaced_; }
  bool is_set_back() const { return is_set_back_; }
  bool is_lost() const { return misplaced_ >= 2 || (misplaced_ == 1 && is_set_back_); }

 private:
  std::int64_t most_;
  std::uint64_t misplaced_ = 0;
  bool is_set_back_ = false;
  std::int64_t last_created_ns_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_ORDER_H
