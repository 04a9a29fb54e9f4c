// SPDX-License-Identifier: Apache-2.0
//
// Calls on threads: GroupApi, CollApi, P2pApi, KernelLaunch, Group; and operations of which NCCL
// tells nothing but the call.
#include <algorithm>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/message_bytes.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventType;

// After its group has ended, a call's Coll or P2p comes within microseconds, except where another
// thread launches for it.
constexpr std::int64_t kLaunchWait_ns = 2'000'000'000;

// After this long, no late record of a thread can touch the thread's last slice.
constexpr std::int64_t kIdleThread_ns = 10'000'000'000;

}  // namespace

// Records of one thread mostly follow each other.
Assembler::ThreadCalls& Assembler::calls_of(std::int32_t tid) {
  if (last_calls_.second == nullptr || last_calls_.first != tid) {
    last_calls_ = {tid, &calls_[tid]};
  }
  return *last_calls_.second;
}

std::int64_t Assembler::call_boundary(std::int32_t tid, std::int64_t ts_ns) {
  std::int64_t& last = calls_of(tid).last_ns;
  last = std::max(ts_ns, last + kLeastGap_ns);
  return last;
}

void Assembler::start_call(const RecordView& view) {
  take_marks_of(view.tid, view.ts_ns);
  const std::int64_t start_ns = call_boundary(view.tid, view.ts_ns);
  auto& made = std::get<CallEvent>(events_.insert(view.id, view.type).data);
  Call& call = made.call;
  call.type = view.type;
  call.id = row_id(view.id);
  call.context = view.context;
  call.tid = view.tid;
  call.start_ns = start_ns;
  made.parent = view.payload.api.parent;
  if (record::is_api(view.type)) {
    const record::ApiPayload& api = view.payload.api;
    call.stream = api.stream;
    call.count = api.count;
    call.root_or_depth = api.root_or_depth;
    call.func = names_.text(view.ring, api.func);
    call.datatype = names_.text(view.ring, api.datatype);
    call.captured = (view.flags & record::kFlagCaptured) != 0;
    made.user_tag = view.has_extra ? view.extra.user_tag : 0;
  }
  ThreadCalls& thread = calls_of(view.tid);
  thread.open.push_back(view.id);
  if (view.type != EventType::kGroup) {
    thread.before_launch_ns = start_ns;
  }
  if (record::is_call(view.type)) {
    if (call.captured) {
      captured_.push_back(view.id);
    } else {
      childless_calls_.push_back(view.id);
    }
  }
}

void Assembler::stop_call(const RecordView& view, Event& event) {
  Call& call = std::get<CallEvent>(event.data).call;
  take_marks_of(call.tid, view.ts_ns);
  ThreadCalls& thread = calls_of(call.tid);
  std::vector<record::EventId>& open = thread.open;
  call.nests = view.tid == call.tid && !open.empty() && open.back() == view.id;
  if (call.nests) {
    open.pop_back();
  } else {
    std::erase(open, view.id);
  }
  call.end_ns =
      call.nests ? call_boundary(call.tid, view.ts_ns) : std::max(view.ts_ns, call.start_ns);
  if (call.type != EventType::kKernelLaunch && view.tid == call.tid) {
    thread.before_launch_ns = std::max(thread.before_launch_ns, view.ts_ns);
  }
  if (record::is_coll_like(call.type)) {
    write_call(event);
    if (OpenOperation* operation = open_operation(call.operation)) {
      operation->operation.enqueue_end_ns = call.end_ns;
      operation->last_activity_ns = view.ts_ns;
      operation->tally.joined = event.joined;
    }
    return;
  }
  auto& called = std::get<CallEvent>(event.data);
  called.is_held = sampling_.is_on() && holds_back(view.id, called);
  if (!called.is_held) {
    write_call(event);
  }
  for (const record::EventId launch : called.launches) {
    if (Event* const held = events_.find(launch)) {
      let_go(*held);
      events_.erase(launch);
    }
  }
  if (!record::is_call(call.type) && !called.is_held) {
    events_.erase(view.id);
  }
}

bool Assembler::group_of(const CallEvent& call) const {
  return call.parent != 0 && events_.contains(call.parent);
}

Operation Assembler::call_operation(const CallEvent& call, std::uint64_t number,
                                    bool in_flight) const {
  Operation made;
  made.number = number;
  made.call_row = call.call.id;
  made.kind = OperationKind::kApi;
  made.context = call.call.context;
  made.rank = communicator(call.call.context).rank;
  made.tid = made.call_tid = call.call.tid;
  made.func = call.call.func;
  made.datatype = call.call.datatype;
  made.count = call.call.count;
  if (const auto bytes = message_bytes(made.count, made.datatype)) {
    made.has_bytes = true;
    made.bytes = *bytes;
  }
  made.has_root = made.func == "Broadcast" || made.func == "Reduce";
  made.root_or_peer = call.call.root_or_depth;
  made.stream = call.call.stream;
  made.user_tag = call.user_tag;
  made.window = window_at(call.call.start_ns);
  made.enqueue_start_ns = call.call.start_ns;
  made.enqueue_end_ns = call.call.end_ns;
  made.in_flight = in_flight;
  return made;
}

// A process may have threads that come and go for weeks. The table is searched only when it has
// doubled since the last search, so each entry costs little.
void Assembler::forget_idle_threads(std::int64_t now_ns) {
  if (calls_.size() < forget_threads_at_) {
    return;
  }
  std::erase_if(calls_, [&](const auto& entry) {
    const ThreadCalls& thread = entry.second;
    return thread.open.empty() && thread.ranges_left_out == 0 &&
           now_ns - thread.last_ns >= kIdleThread_ns;
  });
  last_calls_ = {};
  forget_threads_at_ = std::max(kLeastThreads, 2 * calls_.size());
}

void Assembler::settle_calls(std::int64_t now_ns) {
  forget_idle_threads(now_ns);
  std::erase_if(childless_calls_, [&](record::EventId id) {
    Event* const found = events_.find(id);
    if (found == nullptr) {
      return true;
    }
    auto& call = std::get<CallEvent>(found->data);
    if (call.has_child) {
      return true;
    }
    if (call.call.end_ns == kUnknownTime || group_of(call)) {
      return false;
    }
    if (call.group_gone_ns == kUnknownTime) {
      call.group_gone_ns = now_ns;
    }
    if (now_ns - call.group_gone_ns < kLaunchWait_ns) {
      return false;
    }
    if (call.is_held) {
      let_go(*found);
    }
    const Operation made = call_operation(call, next_operation_++, false);
    sink_.row(OperationRow{&made, &communicator(made.context)}, Tally{});
    ++operations_written_;
    events_.erase(id);
    return true;
  });
}

}  // namespace ringside::assemble
