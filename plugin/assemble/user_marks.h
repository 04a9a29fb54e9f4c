// SPDX-License-Identifier: Apache-2.0
//
// The marks and ranges of the application's threads. Ranges and NCCL's calls are slices of one
// track, so a range waits until all earlier records of its thread have come. Used by one thread.
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

/// The most ranges that may be open on one thread, and in the process. An application that never
/// ends its ranges must not fill the memory.
inline constexpr std::size_t kMostNestedRanges = 256;
inline constexpr std::size_t kMostOpenRanges = 4096;

class UserMarks {
 public:
  UserMarks(Sink& sink, ThreadSlices& slices) : sink_(sink), slices_(slices) {}

  /// Takes a mark, or a begin or end of a range, in the thread's order of time. Writes a mark now.
  void add(UserMark mark);
  /// All records up to `until_ns` have come. Writes the ranges that waited, of all threads or one.
  void take(std::int64_t until_ns);
  void take_of(std::int32_t tid, std::int64_t until_ns) {
    const auto waiting = waiting_.empty() ? waiting_.end() : waiting_.find(tid);
    if (waiting != waiting_.end()) {
      take(waiting->second, until_ns);
    }
  }
  /// Writes the open ranges to `sink`, marked in flight.
  void write_open(Sink& sink, std::int64_t now_ns) const;
  void clear();

  std::uint64_t taken() const { return taken_; }        ///< marks, and begins and ends of ranges
  std::uint64_t not_kept() const { return not_kept_; }  ///< dropped: too many were open
  std::size_t open_ranges() const { return open_.size(); }

  /// Whether a slice of this id is a range. No event id of NCCL's has the top byte of a range.
  static constexpr bool is_range(record::EventId id) { return (id >> record::kTagShift) == kTag; }

 private:
  static constexpr std::uint64_t kTag = 0x52;
  static constexpr record::EventId slice_id(std::uint64_t number) {
    return (kTag << record::kTagShift) | number;
  }
  struct Thread {
    std::vector<std::uint64_t> open;  // numbers of its open ranges, the innermost last
    std::uint64_t not_kept = 0;       // dropped ranges that are open within these
  };
  void take(std::deque<UserMark>& waiting, std::int64_t until_ns);
  void begin_range(UserMark&& mark);
  void end_range(const UserMark& mark);

  Sink& sink_;
  ThreadSlices& slices_;
  std::unordered_map<std::int32_t, std::deque<UserMark>> waiting_;  // by thread
  std::unordered_map<std::int32_t, Thread> threads_;                // threads with open ranges
  std::map<std::uint64_t, Mark> open_;                              // by number
  std::uint64_t numbers_ = 0;                                       // the number given last
  std::uint64_t taken_ = 0;
  std::uint64_t not_kept_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H
