// SPDX-License-Identifier: Apache-2.0
//
// Notes: what other threads tell the drain thread. They wait in a list under the session's mutex;
// the drain thread takes the list and applies its notes without the mutex.
#ifndef RINGSIDE_PLUGIN_SESSION_NOTES_H
#define RINGSIDE_PLUGIN_SESSION_NOTES_H

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plugin/drain/trace_writer.h"
#include "plugin/posix/log.h"
#include "plugin/threads/mutex.h"

namespace ringside::session {

/// Called by the drain thread.
using Note = std::function<void(drain::TraceWriter&)>;

/// The notes that wait. Used under the session's mutex. An application that calls ringside_start in
/// a loop is faster than the drain thread, and must not fill the memory. A start that finds no room
/// is refused before anything is recorded: no window is ever lost.
class Notes {
 public:
  /// Windows that open and close, and changes of their events.
  static constexpr std::size_t kMostOfWindows = 4096;

  explicit Notes(posix::Log& log) : log_(log) {}

  void add(Note note) { waiting_.push_back(std::move(note)); }

  /// Adds a note that calls TraceWriter::apply with this.
  template <typename Told>
  void tell(Told told) {
    if constexpr (std::is_same_v<Told, drain::WindowNote>) {
      ++of_windows_;
    }
    add([told = std::move(told)](drain::TraceWriter& writer)
            RINGSIDE_REQUIRES(threads::kDrainThread) { writer.apply(told); });
  }

  /// The log may be a file, for which the drain thread alone waits.
  void warn(std::string line) {
    add([&log = log_, line = std::move(line)](drain::TraceWriter&) { log.warn(line); });
  }

  bool is_empty() const { return waiting_.empty(); }
  /// Whether a start, and the stop that must be possible behind it, have room. Only what others
  /// order has to ask: what the plugin does by itself is one change at a time.
  bool has_room_for_start() const { return of_windows_ + 2 <= kMostOfWindows; }

  /// Moves all notes into an empty list. Returns how many of them are of windows, for
  /// windows_applied().
  std::size_t take(std::vector<Note>& notes) {
    notes.swap(waiting_);
    return of_windows_;
  }
  void windows_applied(std::size_t count) { of_windows_ -= std::min(of_windows_, count); }

 private:
  posix::Log& log_;
  std::vector<Note> waiting_;
  std::size_t of_windows_ = 0;  ///< notes that wait, or are not applied yet
};

/// The notes that the drain thread has taken. If memory is too short for a note, it is tried again
/// in the next cycles. A note that fails three times is lost; the notes behind it are not.
class TakenNotes {
 public:
  /// Empty after apply() has returned.
  std::vector<Note>& list() { return notes_; }

  /// False if there was none. An exception of a note is passed on, and the next call goes on with
  /// that note.
  bool apply(drain::TraceWriter& writer) RINGSIDE_REQUIRES(threads::kDrainThread) {
    constexpr int kMostAttempts = 3;
    for (; next_ < notes_.size(); ++next_, attempts_ = 0) {
      if (++attempts_ <= kMostAttempts) {
        notes_[next_](writer);
      }
    }
    const bool had_any = next_ != 0;
    notes_ = {};
    next_ = 0;
    return had_any;
  }

 private:
  std::vector<Note> notes_;
  std::size_t next_ = 0;
  int attempts_ = 0;  ///< to apply the next note
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_NOTES_H
