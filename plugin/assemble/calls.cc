// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/calls.h"

#include <algorithm>

#include "plugin/assemble/message_bytes.h"

namespace ringside::assemble {
namespace {

using record::EventType;

// How long an ended call waits for its Coll or P2p after its group has ended. Microseconds are
// usual, but another thread may launch for the call.
constexpr std::int64_t kLaunchWait_ns = 2'000'000'000;

CallEvent* called_of(Event* event) {
  return event != nullptr ? std::get_if<CallEvent>(&event->data) : nullptr;
}

}  // namespace

void Calls::start(const RecordView& view, const NameTable& names) {
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
    call.func = names.text(view.ring, api.func);
    call.datatype = names.text(view.ring, api.datatype);
    call.captured = (view.flags & record::kFlagCaptured) != 0;
    made.user_tag = view.has_extra ? view.extra.user_tag : 0;
  }
  slices_.begin(view.tid, view.id);
  if (view.type != EventType::kGroup) {
    slices_.precede_launch(view.tid, start_ns);
  }
  if (call.captured && record::is_call(view.type)) {
    captured_.push_back(view.id);
  } else if (record::is_call(view.type)) {
    childless_.push_back(view.id);
  }
}

Calls::Surroundings Calls::join(const RecordView& view, OpenOperation& open) {
  const record::CollPayload& coll = view.payload.coll;
  Operation& made = open.operation;
  Surroundings around;
  const std::int64_t start_ns = slices_.boundary_ns(view.tid, view.ts_ns);
  around.enqueue_start_ns = made.enqueue_start_ns = start_ns;
  around.group = events_.find(
      view.has_extra && view.extra.parent_group != 0 ? view.extra.parent_group : coll.parent);
  if (around.group != nullptr && around.group->type == EventType::kGroup) {
    made.group = std::get<CallEvent>(around.group->data).call.id;
  }
  // NCCL 2.26 to 2.30 (group.cc, enqueue.cc) launches a kernel just before it starts the kernel's
  // Group, Coll and P2p events on the same thread. So the kernel can have started before these
  // events, but not before the thread's last callback ahead of the launch. The kernel of a CUDA
  // graph, and a kernel behind one, waits for the callback in which NCCL makes these events.
  open.earliest_ns = slices_.before_launch_ns(view.tid);
  Event* const parent = events_.find(coll.parent);
  if (parent != nullptr && record::is_call(parent->type)) {
    auto& called = std::get<CallEvent>(parent->data);
    around.call = parent;
    around.is_first_of_call = !called.has_child;
    called.has_child = true;
    called.child = made.number;
    open.call = coll.parent;
    // The API call has the user's count and datatype. NCCL may rewrite those of the Coll to bytes.
    made.count = called.call.count;
    made.datatype = called.call.datatype;
    made.stream = called.call.stream;
    made.user_tag = made.user_tag != 0 ? made.user_tag : called.user_tag;
    if (called.call.captured) {
      open.earliest_ns = start_ns;
    } else {
      made.call_tid = called.call.tid;
      made.enqueue_start_ns = std::min(called.call.start_ns, start_ns);
      open.earliest_ns = std::max(open.earliest_ns, called.call.start_ns);
    }
  } else if (made.kind == OperationKind::kColl && count_is_in_bytes(made.func)) {
    made.datatype = "bytes";
  }
  // NCCL reads its activation mask at the start of the GroupApi (up to 2.25, of the Group). The
  // value holds for the operation, its proxy operations (observed with 2.30.7) and all replays.
  around.mask_read_ns = made.enqueue_start_ns;
  const auto include_start = [&](Event* of) {
    if (const CallEvent* const called = called_of(of)) {
      around.mask_read_ns = std::min(around.mask_read_ns, called->call.start_ns);
    }
  };
  if (around.call == nullptr) {
    include_start(around.group);
  } else {
    include_start(around.call);
    include_start(events_.find(std::get<CallEvent>(around.call->data).parent));
  }
  return around;
}

void Calls::count_operation(const Surroundings& around, bool is_kept) {
  const auto count = [&](Event* of) {
    if (CallEvent* const called = called_of(of)) {
      ++(is_kept ? called->kept : called->sampled_out);
    }
  };
  count(around.group);
  if (around.call == nullptr) {
    return;
  }
  Event& call = *around.call;
  Event* const group = events_.find(std::get<CallEvent>(call.data).parent);
  if (group != around.group) {
    count(group);
  }
  call.sampled_out = !is_kept && (around.is_first_of_call || call.sampled_out);
  release(call);
}

void Calls::start_enqueue(const RecordView& view, const Operation& operation,
                          std::int64_t start_ns) {
  Event& event = events_.insert(view.id, view.type);
  event.operation = operation.number;
  event.sampled_out = operation.sampled_out;
  Call& enqueue = std::get<CallEvent>(event.data).call;
  enqueue.type = view.type;
  enqueue.id = row_id(view.id);
  enqueue.operation = operation.number;
  enqueue.context = view.context;
  enqueue.tid = view.tid;
  enqueue.func = operation.func;
  enqueue.captured = operation.captured;
  enqueue.start_ns = start_ns;
  slices_.begin(view.tid, view.id);
}

void Calls::stop(const RecordView& view, Event& event, bool is_sampling) {
  auto& called = std::get<CallEvent>(event.data);
  Call& call = called.call;
  const ThreadSlices::End end = slices_.end(call.tid, view.tid, view.id, call.start_ns, view.ts_ns);
  call.nests = end.nests;
  call.end_ns = end.ts_ns;
  if (call.type != EventType::kKernelLaunch && view.tid == call.tid) {
    slices_.precede_launch(call.tid, view.ts_ns);
  }
  called.is_held = is_sampling && must_be_held(view.id, called);
  if (!called.is_held) {
    write(event);
  }
  for (const record::EventId launch : called.launches) {
    if (Event* const held = events_.find(launch)) {
      release(*held);
      events_.erase(launch);
    }
  }
  if (!record::is_call(call.type) && !record::is_coll_like(call.type) && !called.is_held) {
    events_.erase(view.id);
  }
}

// NCCL enqueues an operation after the API call, and launches its kernel before it enqueues. So at
// the end of a call or a launch, sampling may not have decided about the operation yet.
bool Calls::must_be_held(record::EventId id, const CallEvent& called) {
  if (record::is_call(called.call.type)) {
    return !called.has_child && !called.call.captured;
  }
  if (called.call.type != EventType::kKernelLaunch) {
    return false;
  }
  CallEvent* const group = called_of(events_.find(called.parent));
  if (group != nullptr) {
    group->launches.push_back(id);
  }
  return group != nullptr;
}

void Calls::release(Event& event) {
  auto& called = std::get<CallEvent>(event.data);
  if (called.is_held) {
    called.is_held = false;
    write(event);
  }
}

void Calls::write(const Event& event) {
  const auto& called = std::get<CallEvent>(event.data);
  const auto has_none_kept = [](const CallEvent& of) { return of.sampled_out > 0 && of.kept == 0; };
  bool is_sampled_out = event.sampled_out || has_none_kept(called);
  if (event.type == EventType::kKernelLaunch) {
    const CallEvent* const group = called_of(events_.find(called.parent));
    is_sampled_out = group != nullptr && has_none_kept(*group);
  }
  // The sink does not get a sampled-out enqueue. If the process dies before the operation is
  // sampled out too, recovery writes the operation, and needs the enqueue as one end of its arrow.
  if (!is_sampled_out || !record::is_coll_like(event.type)) {
    rows_.write(&called.call, tally(event), is_sampled_out);
  }
}

bool Calls::is_over(CallEvent& called, std::int64_t now_ns) const {
  if (is_in_flight(called)) {
    return false;
  }
  if (called.group_gone_ns == kUnknownTime) {
    called.group_gone_ns = now_ns;
  }
  return now_ns - called.group_gone_ns >= kLaunchWait_ns;
}

Operation Calls::api_operation(const CallEvent& called, std::uint64_t number) {
  const Call& call = called.call;
  Operation made;
  made.number = number;
  made.call_row = call.id;
  made.kind = OperationKind::kApi;
  made.context = call.context;
  made.tid = made.call_tid = call.tid;
  made.func = call.func;
  made.datatype = call.datatype;
  made.count = call.count;
  if (const auto bytes = message_bytes(made.count, made.datatype)) {
    made.has_bytes = true;
    made.bytes = *bytes;
  }
  made.has_root = made.func == "Broadcast" || made.func == "Reduce";
  made.root_or_peer = call.root_or_depth;
  made.stream = call.stream;
  made.user_tag = called.user_tag;
  made.enqueue_start_ns = call.start_ns;
  made.enqueue_end_ns = call.end_ns;
  return made;
}

Call Calls::open_row(record::EventId id, const Event& event, std::int64_t now_ns) const {
  Call call = std::get<CallEvent>(event.data).call;
  call.end_ns = slices_.end_of_open_ns(call.tid, id, call.start_ns, now_ns);
  call.in_flight = true;
  call.sampled_out = event.sampled_out;
  return call;
}

Call Calls::row_without_stop(record::EventId id, const Event& event, std::int64_t now_ns) const {
  Call call = open_row(id, event, now_ns);
  call.nests = false;
  return call;
}

void Calls::forget(record::EventId id, std::int64_t now_ns) {
  const Event* const event = events_.find(id);
  if (event == nullptr) {
    return;
  }
  const Call& call = std::get<CallEvent>(event->data).call;
  if (call.captured) {
    return;
  }
  if (call.end_ns == kUnknownTime) {  // its stop was lost, since a ring was full
    const Call open = row_without_stop(id, *event, now_ns);
    rows_.write(&open, tally(*event));
    slices_.drop(call.tid, id);
  }
  events_.erase(id);
}

void Calls::forget_oldest_captured() {
  const record::EventId id = captured_.front();
  const Event* const oldest = events_.find(id);
  if (oldest != nullptr && !has_ended(*oldest)) {
    captured_.push_back(id);  // it is tried again later, unless it is evicted
  } else {
    events_.erase(id);
  }
  captured_.pop_front();
}

void Calls::clear() {
  captured_.clear();
  childless_.clear();
}

}  // namespace ringside::assemble
