// SPDX-License-Identifier: Apache-2.0
//
// The moments and ranges that the application marks on its threads. Ranges and NCCL's calls are
// slices of one row, so ranges wait until all earlier records of their thread have come. Used by
// one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "plugin/assemble/rows.h"
#include "plugin/assemble/sink.h"
#include "plugin/assemble/thread_slices.h"

namespace ringside::assemble {

/// How many ranges may be open within each other on a thread, and in all. An application that never
/// ends its ranges must not fill the memory.
inline constexpr std::size_t kMostNestedRanges = 256;
inline constexpr std::size_t kMostOpenRanges = 4096;

class UserMarks {
 public:
  UserMarks(Sink& sink, ThreadSlices& slices) : sink_(sink), slices_(slices) {}

  /// Those of a thread in the order of time. A moment is written at once.
  void add(UserMark mark);
  /// All records up to this time have come: of all threads, or of one.
  void take(std::int64_t until_ns);
  void take_of(std::int32_t tid, std::int64_t until_ns) {
    const auto waiting = waiting_.empty() ? waiting_.end() : waiting_.find(tid);
    if (waiting != waiting_.end()) {
      take(waiting->second, until_ns);
    }
  }
  /// Hands the open ranges to `sink`, marked in flight.
  void write_open(Sink& sink, std::int64_t now_ns) const;
  void clear();

  std::uint64_t taken() const { return taken_; }        ///< begins, ends and moments
  std::uint64_t not_kept() const { return not_kept_; }  ///< ranges, since too many were open
  std::size_t open_ranges() const { return open_.size(); }

  /// Whether a slice of this id is a range. No id of NCCL's events has its top byte.
  static constexpr bool is_range(record::EventId id) { return (id >> record::kTagShift) == kTag; }

 private:
  static constexpr std::uint64_t kTag = 0x52;
  static constexpr record::EventId slice_id(std::uint64_t number) {
    return (kTag << record::kTagShift) | number;
  }
  struct Thread {
    std::vector<std::uint64_t> open;  // numbers of its ranges, the innermost last
    std::uint64_t not_kept = 0;       // begun within these
  };
  void take(std::deque<UserMark>& waiting, std::int64_t until_ns);
  void begin_range(UserMark&& mark);
  void end_range(const UserMark& mark);

  Sink& sink_;
  ThreadSlices& slices_;
  std::unordered_map<std::int32_t, std::deque<UserMark>> waiting_;  // by thread
  std::unordered_map<std::int32_t, Thread> threads_;                // with open ranges
  std::map<std::uint64_t, Mark> open_;                              // by number
  std::uint64_t numbers_ = 0;                                       // given
  std::uint64_t taken_ = 0;
  std::uint64_t not_kept_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H
