// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/user_marks.h"

#include <optional>
#include <utility>

namespace ringside::assemble {

void UserMarks::add(UserMark mark) {
  if (mark.what != UserMark::What::kMark) {
    waiting_[mark.tid].push_back(std::move(mark));
    return;
  }
  ++taken_;
  Mark made;
  made.ts_ns = mark.ts_ns;
  made.tid = mark.tid;
  made.text = std::move(mark.text);
  made.number = ++numbers_;
  sink_.mark(made);
}

void UserMarks::take(std::int64_t until_ns) {
  for (auto of_thread = waiting_.begin(); of_thread != waiting_.end();) {
    take(of_thread->second, until_ns);
    of_thread = of_thread->second.empty() ? waiting_.erase(of_thread) : ++of_thread;
  }
}

void UserMarks::take(std::deque<UserMark>& waiting, std::int64_t until_ns) {
  while (!waiting.empty() && waiting.front().ts_ns <= until_ns) {
    if (waiting.front().what == UserMark::What::kPush) {
      begin_range(std::move(waiting.front()));
    } else {
      end_range(waiting.front());
    }
    waiting.pop_front();
    ++taken_;
  }
}

void UserMarks::begin_range(UserMark&& mark) {
  Thread& thread = threads_[mark.tid];
  if (thread.open.size() == kMostNestedRanges || open_.size() == kMostOpenRanges ||
      thread.not_kept > 0) {
    ++thread.not_kept;
    ++not_kept_;
    return;
  }
  const std::uint64_t number = ++numbers_;
  Mark& made = open_[number];
  made.ts_ns = slices_.boundary_ns(mark.tid, mark.ts_ns);
  made.tid = mark.tid;
  made.text = std::move(mark.text);
  made.source = std::move(mark.source);
  made.number = number;
  made.is_range = true;
  slices_.begin(mark.tid, slice_id(number));
  thread.open.push_back(number);
  sink_.mark(made);
}

void UserMarks::end_range(const UserMark& mark) {
  const auto thread = threads_.find(mark.tid);
  if (thread == threads_.end()) {
    return;
  }
  auto& [open, not_kept] = thread->second;
  std::optional<Mark> ended;
  if (not_kept > 0) {
    --not_kept;
  } else if (!open.empty()) {
    ended = std::move(open_.extract(open.back()).mapped());
    open.pop_back();
  }
  if (open.empty() && not_kept == 0) {
    threads_.erase(thread);
  }
  if (ended) {
    // A group that began within the range may end after it, and a range within a group likewise.
    const ThreadSlices::End end =
        slices_.end(ended->tid, ended->tid, slice_id(ended->number), ended->ts_ns, mark.ts_ns);
    ended->nests = end.nests;
    ended->end_ns = end.ts_ns;
    sink_.mark(*ended);
  }
}

void UserMarks::write_open(Sink& sink, std::int64_t now_ns) const {
  for (const auto& [number, range] : open_) {
    Mark open = range;
    open.in_flight = true;
    open.end_ns = slices_.end_of_open_ns(open.tid, slice_id(number), open.ts_ns, now_ns);
    sink.mark(open);
  }
}

void UserMarks::clear() {
  waiting_.clear();
  threads_.clear();
  open_.clear();
}

}  // namespace ringside::assemble
