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

}  // namespace

void Assembler::start_call(const RecordView& view) {
  user_marks_.take_of(view.tid, view.ts_ns);
  const std::int64_t start_ns = slices_.boundary_ns(view.tid, view.ts_ns);
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
  slices_.begin(view.tid, view.id);
  if (view.type != EventType::kGroup) {
    slices_.precede_launch(view.tid, start_ns);
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
  user_marks_.take_of(call.tid, view.ts_ns);
  const ThreadSlices::End end = slices_.end(call.tid, view.tid, view.id, call.start_ns, view.ts_ns);
  call.nests = end.nests;
  call.end_ns = end.ts_ns;
  if (call.type != EventType::kKernelLaunch && view.tid == call.tid) {
    slices_.precede_launch(call.tid, view.ts_ns);
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
  called.is_held = sampler_.is_on() && holds_back(view.id, called);
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
  made.rank = communicators_.of(call.call.context).rank;
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
  made.window = history_.window_at(call.call.start_ns);
  made.enqueue_start_ns = call.call.start_ns;
  made.enqueue_end_ns = call.call.end_ns;
  made.in_flight = in_flight;
  return made;
}

void Assembler::settle_calls(std::int64_t now_ns) {
  slices_.forget_idle(now_ns);
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
    sink_.row(OperationRow{&made, &communicators_.of(made.context)}, Tally{});
    ++operations_written_;
    events_.erase(id);
    return true;
  });
}

}  // namespace ringside::assemble
