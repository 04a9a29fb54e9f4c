// SPDX-License-Identifier: Apache-2.0
//
// What the application marks on its threads. Its ranges and NCCL's calls are slices of one row, so
// both go through the same order of a thread's slices.
#include <algorithm>
#include <utility>

#include "plugin/assemble/assembler.h"

namespace ringside::assemble {
namespace {

// No id of NCCL's events has this in its top byte.
constexpr record::EventId kRangeId = std::uint64_t{0x52} << record::kTagShift;

}  // namespace

void Assembler::mark(UserMark mark) {
  if (mark.what != UserMark::What::kMark) {
    waiting_marks_[mark.tid].push_back(std::move(mark));
    return;
  }
  ++marks_taken_;
  Mark made;
  made.ts_ns = mark.ts_ns;
  made.tid = mark.tid;
  made.text = std::move(mark.text);
  made.number = ++marks_;
  sink_.mark(made);
}

void Assembler::take_marks(std::int64_t until_ns) {
  for (auto of_thread = waiting_marks_.begin(); of_thread != waiting_marks_.end();) {
    take_marks(of_thread->second, until_ns);
    of_thread = of_thread->second.empty() ? waiting_marks_.erase(of_thread) : ++of_thread;
  }
}

void Assembler::take_marks_of(std::int32_t tid, std::int64_t until_ns) {
  if (waiting_marks_.empty()) {
    return;
  }
  const auto waiting = waiting_marks_.find(tid);
  if (waiting != waiting_marks_.end()) {
    take_marks(waiting->second, until_ns);
  }
}

void Assembler::take_marks(std::deque<UserMark>& waiting, std::int64_t until_ns) {
  while (!waiting.empty() && waiting.front().ts_ns <= until_ns) {
    if (waiting.front().what == UserMark::What::kPush) {
      begin_range(std::move(waiting.front()));
    } else {
      end_range(waiting.front());
    }
    waiting.pop_front();
    ++marks_taken_;
  }
}

void Assembler::begin_range(UserMark&& mark) {
  ThreadCalls& thread = calls_of(mark.tid);
  if (thread.ranges.size() == kMostNestedRanges || open_ranges_ == kMostOpenRanges ||
      thread.ranges_left_out > 0) {
    ++thread.ranges_left_out;
    ++ranges_left_out_;
    return;
  }
  Mark made;
  made.ts_ns = call_boundary(mark.tid, mark.ts_ns);
  made.tid = mark.tid;
  made.text = std::move(mark.text);
  made.source = std::move(mark.source);
  made.number = ++marks_;
  made.is_range = true;
  const record::EventId id = kRangeId | made.number;
  events_.insert(id, Event{record::EventType::kUnknown, 0, 0, false, made});
  thread.open.push_back(id);
  thread.ranges.push_back(id);
  ++open_ranges_;
  sink_.mark(made);
}

void Assembler::end_range(const UserMark& mark) {
  ThreadCalls& thread = calls_of(mark.tid);
  if (thread.ranges_left_out > 0) {
    --thread.ranges_left_out;
    return;
  }
  if (thread.ranges.empty()) {
    return;
  }
  const record::EventId id = thread.ranges.back();
  thread.ranges.pop_back();
  --open_ranges_;
  Mark made = std::get<Mark>(events_.find(id)->data);
  events_.erase(id);
  // A group that began within the range may end behind it, and the other way round.
  made.nests = !thread.open.empty() && thread.open.back() == id;
  std::erase(thread.open, id);
  made.end_ns = made.nests ? call_boundary(mark.tid, mark.ts_ns) : std::max(mark.ts_ns, made.ts_ns);
  sink_.mark(made);
}

}  // namespace ringside::assemble
