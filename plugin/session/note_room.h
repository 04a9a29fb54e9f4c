// SPDX-License-Identifier: Apache-2.0
//
// How much may wait for the drain thread. An application that calls ringside_mark, ringside_push or
// ringside_start in a loop is faster than the drain thread, and must not fill the memory. A mark
// that finds no room is lost and counted. A range is lost as a whole: the end of a range that was
// begun always has room, or all that follows on its thread would be in the wrong range. A start
// that finds no room is refused before anything is recorded: no window is ever lost.
#ifndef RINGSIDE_PLUGIN_SESSION_NOTE_ROOM_H
#define RINGSIDE_PLUGIN_SESSION_NOTE_ROOM_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/rows.h"

namespace ringside::control {

/// The ranges that a thread has begun and not ended. Each thread has its own.
struct ThreadRanges {
  std::uint64_t open = 0;         ///< ranges on their way to the trace
  std::uint64_t lost = 0;         ///< ranges within them that had no room
  const void* session = nullptr;  ///< the session they belong to; the child of a fork has its own
  std::int32_t tid = 0;           ///< the thread's, asked for once
};

/// Marks, begins and ends of ranges, from the call until the assembler has taken them. Used under
/// the session's mutex.
class MarkRoom {
 public:
  /// With the longest texts, this many take some 140 MB.
  static constexpr std::uint64_t kMost = 1U << 16;

  enum class Verdict : std::uint8_t {
    kGoesOn,
    kLost,
    kNothing  ///< the end of no range, or of one that is lost
  };

  Verdict admit(assemble::UserMark::What what, ThreadRanges& thread) {
    switch (what) {
      case assemble::UserMark::What::kPush:
        if (thread.lost > 0 || thread.open == assemble::kMostNestedRanges ||
            open_ == assemble::kMostOpenRanges || waiting_ + open_ + 2 > kMost) {
          ++thread.lost;
          ++ranges_refused_;
          return Verdict::kLost;
        }
        ++thread.open;
        ++open_;
        break;
      case assemble::UserMark::What::kPop:
        if (thread.lost > 0 || thread.open == 0) {
          thread.lost -= thread.lost > 0 ? 1 : 0;
          return Verdict::kNothing;
        }
        --thread.open;
        --open_;  // the begin has kept a place for this end
        break;
      default:
        if (waiting_ + open_ + 1 > kMost) {
          ++marks_refused_;
          return Verdict::kLost;
        }
    }
    ++waiting_;
    return Verdict::kGoesOn;
  }

  /// How many the assembler has taken, and how many ranges it had no room for, since the process
  /// began.
  void taken(std::uint64_t count, std::uint64_t ranges_left_out) {
    waiting_ -= std::min(waiting_, count - taken_);
    taken_ = count;
    ranges_left_out_ = ranges_left_out;
  }
  /// How many could not be written to the trace, since the process began.
  void not_written(std::uint64_t marks, std::uint64_t ranges) {
    marks_not_written_ = marks;
    ranges_not_written_ = ranges;
  }

  std::uint64_t waiting() const { return waiting_; }
  std::uint64_t marks_refused() const { return marks_refused_; }
  std::uint64_t marks_lost() const { return marks_refused_ + marks_not_written_; }
  std::uint64_t ranges_refused() const { return ranges_refused_; }
  std::uint64_t ranges_lost() const {
    return ranges_refused_ + ranges_left_out_ + ranges_not_written_;
  }
  /// True if some had no room. A mark or range that the disk did not take does not count.
  bool had_too_many() const { return marks_refused_ + ranges_refused_ + ranges_left_out_ != 0; }

 private:
  std::uint64_t waiting_ = 0;
  std::uint64_t open_ = 0;  ///< ranges; each keeps a place for its end
  std::uint64_t taken_ = 0;
  std::uint64_t marks_refused_ = 0;
  std::uint64_t marks_not_written_ = 0;
  std::uint64_t ranges_refused_ = 0;
  std::uint64_t ranges_left_out_ = 0;
  std::uint64_t ranges_not_written_ = 0;
};

/// Windows that open and close, and changes of their events. Used under the session's mutex.
class WindowRoom {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Whether a start, and the stop that must be possible behind it, have room. Only what others
  /// order has to ask: what the plugin does by itself is one change at a time.
  bool has_room() const { return waiting_ + 2 <= kMost; }
  void added() { ++waiting_; }
  std::size_t waiting() const { return waiting_; }
  void taken(std::size_t count) { waiting_ -= std::min(waiting_, count); }

 private:
  std::size_t waiting_ = 0;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_SESSION_NOTE_ROOM_H
