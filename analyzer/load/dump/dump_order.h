// SPDX-License-Identifier: Apache-2.0
//
// Signs that the entries of a Flight Recorder dump are not in the order in which they were made.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ORDER_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ORDER_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ringside::load {

/// A number that is another entry's may be damage of that number, or the entry is not where it was
/// made. Two such numbers, or one beside times that go back, are no damage of one number: then
/// nothing tells which call was made after which. The same is so if a call has finished before it
/// was made, unless the clock was set back.
class EntryOrder {
 public:
  EntryOrder() = default;
  /// `most`: no entry of the dump has a greater number.
  EntryOrder(std::int64_t most, std::size_t contexts) : most_(most), last_(contexts) {}

  /// Counts a number of an entry that does not fit there, if another entry may have it.
  void note_misplaced(std::optional<std::int64_t> told) {
    misplaced_ += is_of_another(told) ? 1 : 0;
  }

  /// Counts numbers that are missing before the first entry of a group.
  void note_gap() { ++gaps_; }

  /// Whether a group that counts its calls one by one leaves out numbers, none of which is damaged.
  bool has_gaps() const { return gaps_ > 0 && gaps_ < steps_ && misplaced_ == 0; }

  /// Numbers of an entry that never get less from one of its group to the next. Each call has an
  /// `operation` of its own, and the end of a group of them has that of its last one.
  struct Numbers {
    std::optional<std::int64_t> point_to_point;
    std::optional<std::int64_t> operation;
    bool may_repeat = false;  // the operation
  };

  /// Returns the key of a number that does not follow those before; nullptr if both do. `next`
  /// returns the numbers of the group's next entry; it is asked only where a number leaps: a leap
  /// over those that come next is damage of this one.
  template <typename Next>
  const char* key_that_does_not_follow(std::uint32_t context, const Numbers& told, Next next) {
    auto& last = last_[context];
    const char* const of_pairs = take(told.point_to_point, "p2p_seq_id", last[0], true,
                                      [&] { return std::pair(next().point_to_point, true); });
    const auto before = last[1];
    const char* const of_calls = take(told.operation, "op_id", last[1], told.may_repeat, [&] {
      const Numbers following = next();
      return std::pair(following.operation, following.may_repeat);
    });
    if (of_calls == nullptr) {
      take_step(told.operation, before);
    }
    return of_calls != nullptr ? of_calls : of_pairs;
  }

  /// Takes the collective_seq_id of an entry, which may be another one's.
  void take_collective(std::uint32_t context, std::optional<std::int64_t> told) {
    auto& before = last_[context][2];
    take_step(told, before);
    before = told ? told : before;
  }

  /// Calls follow each other as their records do, whatever the wall clock does: one that was set
  /// back stands still until it has come to where it was.
  std::int64_t in_order(std::int64_t created_ns) {
    is_set_back_ = is_set_back_ || created_ns < last_created_ns_;
    last_created_ns_ = std::max(last_created_ns_, created_ns);
    return last_created_ns_;
  }

  /// Returns false if the entry's call was seen to finish before it was made. `begin_ns`: of the
  /// dump; a time before that is damaged.
  bool take_end(std::int64_t created_ns, std::int64_t completed_ns, std::int64_t begin_ns) {
    const bool is_early = completed_ns >= begin_ns && completed_ns < created_ns;
    has_early_end_ = has_early_end_ || is_early;
    return !is_early;
  }

  std::uint64_t misplaced() const { return misplaced_; }
  bool is_set_back() const { return is_set_back_; }
  bool is_lost() const {
    return misplaced_ >= 2 || (is_set_back_ ? misplaced_ == 1 : has_early_end_);
  }

 private:
  bool is_of_another(std::optional<std::int64_t> told) const {
    return told && *told >= 0 && *told <= most_;
  }

  // `next` returns the number of the next entry, and whether it may repeat this one.
  template <typename Next>
  const char* take(std::optional<std::int64_t> number, const char* key,
                   std::optional<std::int64_t>& before, bool may_repeat, Next next) {
    constexpr std::int64_t kFar = std::int64_t{1} << 61;  // no sum of these is too large
    const auto told = number ? std::optional(std::clamp(*number, -kFar, kFar)) : number;
    if (!told || !before) {
      before = told ? told : before;
      return nullptr;
    }
    if (*told > *before && *told - *before > 1) {
      const auto [following, repeats] = next();
      if (following && *following >= *before &&
          (*following < *told || (*following == *told && !repeats))) {
        if (*following < *told) {
          note_misplaced(following);
        }
        before = std::max(*before, *following - 1);
        return key;
      }
    }
    // A number that is there twice is a copy: no entry has changed places for it.
    const bool follows = *told > *before || (*told == *before && may_repeat);
    if (*told < *before) {
      note_misplaced(told);
    }
    before = follows || (*told < *before && is_of_another(told)) ? *told : *before + 1;
    return follows ? nullptr : key;
  }

  void take_step(std::optional<std::int64_t> told, std::optional<std::int64_t> before) {
    if (told && before && *told > *before) {
      ++(*told - 1 == *before ? steps_ : gaps_);
    }
  }

  std::int64_t most_ = 0;
  std::uint64_t misplaced_ = 0;
  bool is_set_back_ = false;
  bool has_early_end_ = false;
  std::uint64_t steps_ = 0;  // from a number to the next one
  std::uint64_t gaps_ = 0;   // or farther
  std::int64_t last_created_ns_ = 0;
  std::vector<std::array<std::optional<std::int64_t>, 3>> last_;  // by context
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ORDER_H
