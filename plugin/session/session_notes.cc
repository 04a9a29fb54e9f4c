// SPDX-License-Identifier: Apache-2.0
//
// Notes of the application for the drain thread, and how they are taken.
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/record/recorder.h"
#include "plugin/session/session.h"

namespace ringside::control {
namespace {

// The session is one of a kind, so the thread's own is, too.
thread_local constinit ThreadRanges t_ranges;

}  // namespace

int Session::mark(const char* text) {
  return note_mark(assemble::UserMark::What::kMark, text, nullptr);
}

int Session::push(const char* text, const char* source) {
  return note_mark(assemble::UserMark::What::kPush, text, source);
}

int Session::pop() {
  return note_mark(assemble::UserMark::What::kPop, nullptr, nullptr);
}

int Session::note_mark(assemble::UserMark::What what, const char* text, const char* source) {
  constexpr std::size_t kMost_bytes = 1000;
  const auto cut = [](const char* whole) {
    return whole != nullptr ? std::string(whole, strnlen(whole, kMost_bytes)) : std::string();
  };
  MarkNote made;
  made.mark.what = what;
  made.mark.text = cut(text);
  made.mark.source = cut(source);
  made.mark.tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  if (t_ranges.session != this) {
    t_ranges = {.session = this};
  }
  const std::lock_guard lock(mutex_);
  const MarkRoom::Verdict verdict = mark_room_.admit(what, t_ranges);
  if (what != assemble::UserMark::What::kPop) {
    writer_.count_mark(what == assemble::UserMark::What::kPush,
                       verdict == MarkRoom::Verdict::kLost);
  }
  if (verdict != MarkRoom::Verdict::kGoesOn) {
    return verdict == MarkRoom::Verdict::kNothing ? RINGSIDE_OK
           : thread_running_                      ? RINGSIDE_ERROR_BUSY
                                                  : RINGSIDE_ERROR_DISABLED;
  }
  // Under the mutex, so that notes are in the order of time.
  made.ticks = record::g_recorder.ticks();
  note(std::move(made));
  return RINGSIDE_OK;
}

// Under the mutex. A start that changes nothing leaves no note.
bool Session::has_room_to_start(bool has_events) const {
  return (started_ && !has_events) || window_room_.has_room();
}

// False if there were none. Where memory is too short for a note it is tried again in the next
// cycles; what is lost in the end is that note, not those behind it.
bool Session::take_notes() {
  constexpr int kMostAttempts = 3;
  const auto apply = [this] {
    for (; next_note_ < taken_notes_.size(); ++next_note_, note_attempts_ = 0) {
      if (++note_attempts_ <= kMostAttempts) {
        taken_notes_[next_note_](writer_);
      }
    }
    const bool had_any = next_note_ != 0;
    taken_notes_ = {};
    next_note_ = 0;
    return had_any;
  };
  const bool had_left = apply();
  std::size_t windows = 0;
  {
    const std::lock_guard lock(mutex_);
    taken_notes_.swap(notes_);
    windows = window_room_.waiting();
    writer_.set_marks_refused(mark_room_.marks_refused(), mark_room_.ranges_refused());
  }
  const bool had_new = apply();
  const std::lock_guard lock(mutex_);
  window_room_.taken(windows);
  return had_left || had_new;
}

void Session::tell_lost_marks() {
  bool too_many = false;
  {
    const std::lock_guard lock(mutex_);
    mark_room_.taken(writer_.marks_taken(), writer_.ranges_left_out());
    mark_room_.not_written(writer_.marks_not_written(), writer_.ranges_not_written());
    too_many = mark_room_.had_too_many();
  }
  if (!marks_told_ && too_many) {
    marks_told_ = true;
    log_.warn(
        "the application marks faster than it can be written, or has too many ranges open: some "
        "marks and ranges are not in the trace, whose end counts them; operations are not "
        "affected");
  }
}

}  // namespace ringside::control
