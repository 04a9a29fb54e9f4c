// SPDX-License-Identifier: Apache-2.0
//
// The numbers that PyTorch gives the calls of a group, and which of them a dump can be believed.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_NUMBERS_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_NUMBERS_H

#include <cstdint>
#include <optional>

namespace ringside::load {

/// What is odd about an entry's `record_id`.
struct OddRecord {
  enum class Kind : std::uint8_t {
    kMisnumbered,  // it does not tell the entry's place, which is known all the same
    kRepeated,     // an entry before it has record `first`
    kBehindHole,   // records `first` to `last` are missing before it
  };
  Kind kind = Kind::kMisnumbered;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The `record_id`s of a dump's entries, which follow each other.
class RecordNumbers {
 public:
  explicit RecordNumbers(std::int64_t first = 0) : next_(first) {}

  /// Returns nothing if the number is the one that is due. `next` returns that of the next entry,
  /// or nothing; it is asked only where this one is odd.
  template <typename Next>
  std::optional<OddRecord> take(std::optional<std::int64_t> told, Next next) {
    if (told != next_) {
      return take_odd(told, next());
    }
    ++next_;
    return std::nullopt;
  }

  /// The number of the entry that was taken last.
  std::int64_t last() const { return next_ - 1; }

 private:
  OddRecord take_odd(std::optional<std::int64_t> told, std::optional<std::int64_t> next);

  std::int64_t next_;
};

/// What a call does to the number of its group's collectives: a collective counts them on, unless
/// it is called together with the one before; a send or receive has the number that there is, and
/// so has the end of calls that are made together. Collectives that are not listed may have counted
/// it on (kNot), unless it is known that there are none (kSame).
enum class Counts : std::uint8_t { kOn, kNot, kSame };

/// The `collective_seq_id`s of a group's entries, one after the other.
class GroupNumbers {
 public:
  struct Number {
    std::int64_t value = 0;  // where the told one is damaged, the one that fits between the others
    bool is_damaged = false;
    bool is_leap = false;  // numbers before it are not there, and no record is missing
  };

  /// `told`: of the entry, if it can be read. `next` returns that of the group's next entry, or
  /// nothing; it is asked only where the number is not simply the next one. `is_behind_loss`:
  /// records before the entry are not there, so that its number may be any.
  template <typename Next>
  Number take(std::optional<std::int64_t> told, Counts counts, bool is_behind_loss, Next next) {
    const bool is_next =
        told && (counts == Counts::kOn ? *told == any_ + 1 : *told == any_) && is_begun_;
    const Number number = is_next ? Number{*told} : choose(told, counts, is_behind_loss, next());
    is_begun_ = true;
    any_ = number.value;
    last_ = counts == Counts::kOn ? number.value : last_;
    return number;
  }

 private:
  Number choose(std::optional<std::int64_t> told, Counts counts, bool is_behind_loss,
                std::optional<std::int64_t> next) const;

  bool is_begun_ = false;
  std::int64_t any_ = 0;   // of the entry before
  std::int64_t last_ = 0;  // of the collective before; the first one has number 1
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_NUMBERS_H
