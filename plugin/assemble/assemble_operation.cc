// SPDX-License-Identifier: Apache-2.0
//
// Operations: a Coll, P2p or CeColl, with what its call says before it and its descendants after
// it.
#include <algorithm>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/message_bytes.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventType;

// After this long without a callback an operation whose started descendants have stopped is over.
constexpr std::int64_t kSettle_ns = 500'000'000;
// One that has had no child waits longer for a first: the thread that makes it may be held up.
// Operations within a node never get one.
constexpr std::int64_t kChildWait_ns = 3'000'000'000;
// One that must still get its kernel channels waits for its turn on the GPU, behind whatever is
// there.
constexpr std::int64_t kKernelWait_ns = 60'000'000'000;
// Callbacks of other threads may come after the finalize of a communicator.
constexpr std::int64_t kFinalizedWait_ns = 2'000'000'000;
// Finished operations stay known for those that come late.
constexpr std::int64_t kGrace_ns = 5'000'000'000;

void widen(std::int64_t start_ns, std::int64_t end_ns, Operation& operation) {
  operation.start_ns =
      operation.start_ns == kUnknownTime ? start_ns : std::min(operation.start_ns, start_ns);
  operation.end_ns = std::max(operation.end_ns, end_ns);
}

}  // namespace

// NCCL reads its activation mask at the start of the GroupApi (up to 2.25 of the Group), and keeps
// what it has read for the operation and for its proxy operations (observed with 2.30.7); for a
// captured call it keeps that for all replays.
std::int64_t Assembler::mask_read_ns(const Operation& operation, const Event* group,
                                     const Event* call) const {
  std::int64_t read_ns = operation.enqueue_start_ns;
  const auto begins = [&](const Event* event) {
    if (event != nullptr && std::holds_alternative<CallEvent>(event->data)) {
      read_ns = std::min(read_ns, std::get<CallEvent>(event->data).call.start_ns);
    }
  };
  if (call == nullptr) {
    begins(group);
  } else {
    begins(call);
    begins(events_.find(std::get<CallEvent>(call->data).parent));
  }
  return read_ns;
}

void Assembler::start_operation(const RecordView& view) {
  user_marks_.take_of(view.tid, view.ts_ns);
  const record::CollPayload& coll = view.payload.coll;
  const std::uint64_t number = given_operation_ != 0 ? given_operation_ : next_operation_++;
  next_operation_ = std::max(next_operation_, number + 1);
  joined_operation_ = number;
  OpenOperation& open = operations_.insert(number);
  Operation& made = open.operation;
  made.number = number;
  made.kind = view.type == EventType::kColl  ? OperationKind::kColl
              : view.type == EventType::kP2p ? OperationKind::kP2p
                                             : OperationKind::kCopyEngine;
  made.context = view.context;
  made.tid = made.call_tid = view.tid;
  made.func = names_.text(view.ring, coll.func);
  made.datatype = names_.text(view.ring, coll.datatype);
  made.algo = names_.text(view.ring, coll.algo);
  made.proto = names_.text(view.ring, coll.proto);
  made.has_seq = made.kind != OperationKind::kP2p;
  made.seq = coll.seq;
  made.count = coll.count;
  made.root_or_peer = coll.root_or_peer;
  made.has_root = made.func == "Broadcast" || made.func == "Reduce" ||
                  (made.kind == OperationKind::kCopyEngine &&
                   (made.func == "Gather" || made.func == "Scatter"));
  made.captured = (view.flags & record::kFlagCaptured) != 0;
  if (view.has_extra) {
    made.user_tag = view.extra.user_tag;
    made.stream = view.extra.stream_or_wr;
    made.channels = view.extra.channels;
    made.warps = view.extra.warps;
    made.rank = view.extra.rank_or_qp;
    made.symmetric = (view.extra.flags & record::kExtraSymmetric) != 0;
    if ((view.extra.flags & record::kExtraCommName) == 0) {
      made.variant = names_.text(view.ring, view.extra.variant);
    }
  }
  const auto bytes = message_bytes(made.count, made.datatype);
  made.has_bytes = bytes.has_value();
  made.bytes = bytes.value_or(0);

  std::int64_t start_ns = slices_.boundary_ns(view.tid, view.ts_ns);
  Event* const group = events_.find(
      view.has_extra && view.extra.parent_group != 0 ? view.extra.parent_group : coll.parent);
  if (group != nullptr && group->type == EventType::kGroup) {
    made.group = std::get<CallEvent>(group->data).call.id;
  }
  made.enqueue_start_ns = start_ns;
  // NCCL 2.26 to 2.30 (group.cc, enqueue.cc) launch a kernel just before they begin its Group,
  // Colls and P2ps on the same thread, so it can have started before these, but not before what the
  // thread did before the launch. The kernels of a graph, and those behind one, wait for the
  // callback in which these events are made.
  open.earliest_ns = slices_.before_launch_ns(view.tid);
  Event* const parent = events_.find(coll.parent);
  Event* call = nullptr;
  bool is_first_of_call = true;
  if (parent != nullptr && record::is_call(parent->type)) {
    call = parent;
    auto& called = std::get<CallEvent>(parent->data);
    is_first_of_call = !called.has_child;
    called.has_child = true;
    called.child = number;
    open.call = coll.parent;
    // The user's own count and datatype; the Coll's may have been rewritten to bytes.
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
  made.window = history_.window_at(made.enqueue_start_ns);
  if (sampler_.is_on()) {
    made.sampled_out = !sampler_.chooses(communicators_.of(view.context), view.ts_ns, made);
    tell_calls(group, call, is_first_of_call, !made.sampled_out);
  }
  open.event = view.id;
  open.tally = {view.type, 1, 0};
  open.last_activity_ns = view.ts_ns;
  const std::uint32_t types = history_.types_at(mask_read_ns(made, group, call));
  open.expects_proxies = (types & record::bit(EventType::kProxyOp)) != 0;
  open.expects_kernels = (types & record::bit(EventType::kKernelCh)) != 0 && made.channels > 0 &&
                         !made.symmetric && made.kind != OperationKind::kCopyEngine &&
                         communicators_.of(view.context).abi_version >= 3;

  Event& event = events_.insert(view.id, view.type);
  event.operation = number;
  event.sampled_out = made.sampled_out;
  Call& enqueue = std::get<CallEvent>(event.data).call;
  enqueue.type = view.type;
  enqueue.id = row_id(view.id);
  enqueue.operation = number;
  enqueue.context = view.context;
  enqueue.tid = view.tid;
  enqueue.func = made.func;
  enqueue.captured = made.captured;
  enqueue.start_ns = start_ns;
  unfinished_.add(number, made.enqueue_start_ns);
  slices_.begin(view.tid, view.id);
}

// For how long an operation without kernel channels must be quiet.
std::int64_t Assembler::quiet_wait_ns(const OpenOperation& open) const {
  const bool children_may_come = open.expects_proxies && open.proxy_last_ns == kUnknownTime &&
                                 open.operation.kind != OperationKind::kCopyEngine;
  return children_may_come ? kChildWait_ns : kSettle_ns;
}

bool Assembler::is_finished(const OpenOperation& open, std::int64_t now_ns) const {
  const Operation& operation = open.operation;
  const Communicator& in = communicators_.of(operation.context);
  const bool gone =
      in.finalized_ns != kUnknownTime && now_ns - in.finalized_ns >= kFinalizedWait_ns;
  if (operation.enqueue_end_ns == kUnknownTime) {
    return false;
  }
  if (open.open_children > 0) {
    return gone;
  }
  const std::int64_t quiet_ns = now_ns - open.last_activity_ns;
  if (!open.expects_kernels) {
    return quiet_ns >= quiet_wait_ns(open);
  }
  if (open.kernels_stopped >= operation.channels || gone) {
    return true;
  }
  const auto last = last_on_gpu_.find(operation.context);
  const bool overtaken = last != last_on_gpu_.end() && last->second > operation.number;
  return quiet_ns >= (overtaken || open.kernels_stopped > 0 ? kSettle_ns : kKernelWait_ns);
}

Assembler::Built Assembler::build(const OpenOperation& open) {
  Built built{open.operation, {}, {}};
  auto& [made, kernels, extent] = built;
  for (const OpenOperation::Kernel& kernel : open.kernels) {
    kernels.push_back(kernel.row);
    gpu_clocks_.place(kernels.back(), open.earliest_ns);
  }
  extent = KernelOrder::extent(kernels);
  const bool has_stamps_of_others = kernel_order_.has_stamps_of_others(made, extent);
  for (KernelRow& row : kernels) {
    if (has_stamps_of_others && row.rejected.empty() && row.gpu_start != 0) {
      // Nothing tells which of them are, so none is used.
      row.rejected = "stamps of several kernels";
      row.start_ns = row.callback_start_ns;
      row.end_ns = row.callback_stop_ns;
    }
    if (!row.rejected.empty()) {
      ++made.gpu_rejected;
      continue;
    }
    ++made.gpu_channels;
    made.gpu_polled = row.gpu_start == 0;
    widen(row.start_ns, row.end_ns, made);
  }
  const bool is_over = open.open_children == 0;
  if (made.gpu_channels > 0) {
    made.times_from = TimesFrom::kGpu;
  } else if (open.network_first_ns != kUnknownTime) {
    made.times_from = TimesFrom::kProxy;
    widen(open.network_first_ns, std::max(open.proxy_last_ns, open.network_first_ns), made);
  } else if (open.proxy_last_ns != kUnknownTime) {
    made.times_from = TimesFrom::kProxyQueue;
    widen(open.proxy_first_ns, open.proxy_last_ns, made);
  }
  if (is_over && (made.times_from != TimesFrom::kEnqueue || !open.kernels.empty())) {
    made.state = OperationState::kCompleted;
  } else if (!is_over) {
    made.state = OperationState::kStarted;
    made.end_ns = kUnknownTime;
  }
  return built;
}

void Assembler::write_changed_fits() {
  for (const GpuClocks::ChangedFit& changed : gpu_clocks_.take_changed_fits()) {
    sink_.gpu_clock(changed.context, changed.fit);
  }
}

void Assembler::finish(OpenOperation& open, std::int64_t now_ns) {
  Built built = build(open);
  auto& [made, kernels, extent] = built;
  write_changed_fits();
  made.in_flight = open.open_children > 0 || made.enqueue_end_ns == kUnknownTime;
  const OperationRow row{&made, &communicators_.of(made.context)};
  const bool is_sampled_out = made.sampled_out && !made.in_flight;
  if (is_sampled_out) {
    sample_out(row, open.tally);
  } else {
    sink_.row(row, open.tally);
    ++operations_written_;
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (is_sampled_out) {
      sample_out(&kernels[i], open.kernels[i].tally);
    } else {
      sink_.row(&kernels[i], open.kernels[i].tally);
    }
  }
  kernel_order_.add(made, extent);
  if (made.state == OperationState::kCompleted) {
    note_end(open);
  }
  if (open.kernels_stopped > 0) {
    std::uint64_t& last = last_on_gpu_[made.context];
    last = std::max(last, made.number);
  }
  kernels_held_ -= open.kernels.size();
  open.kernels = {};
  open.finished = true;
  finished_.push_back({made.number, open.event, open.call, now_ns});
}

void Assembler::forget(const Finished& gone, std::int64_t now_ns) {
  events_.erase(gone.event);
  const Event* const found = events_.find(gone.call);
  if (found == nullptr) {
    return;
  }
  const Call& call = std::get<CallEvent>(found->data).call;
  if (call.captured) {
    return;
  }
  if (call.end_ns == kUnknownTime) {  // a full ring has lost its end
    write_open_call(sink_, gone.call, *found, now_ns);
    slices_.drop(call.tid, gone.call);
  }
  events_.erase(gone.call);
}

// An operation that waits for quiet alone needs no look before that could have come.
bool Assembler::only_waits(const OpenOperation& open) const {
  return !open.expects_kernels && open.open_children == 0 &&
         open.operation.enqueue_end_ns != kUnknownTime;
}

// What comes for an operation can shorten its wait, to no less than kSettle_ns from then on; also
// where it is older, and comes late.
void Assembler::wake(OpenOperation& open, std::int64_t ts_ns) {
  if (open.is_resting) {
    open.is_resting = false;
    unfinished_.wake(open.operation.number, std::max(ts_ns, settled_ns_) + kSettle_ns);
  }
}

void Assembler::settle_operations(std::int64_t now_ns) {
  const auto soon = [&](std::span<const Unfinished::Entry> entries) {
    for (const Unfinished::Entry& entry : entries) {
      operations_.fetch_value(entry.number);
    }
  };
  const auto look = [&](Unfinished::Entry& entry) {
    OpenOperation* const open = operations_.find(entry.number);
    if (open == nullptr || open->finished) {
      return true;
    }
    if (is_finished(*open, now_ns)) {
      finish(*open, now_ns);
      return true;
    }
    open->is_resting = only_waits(*open);
    entry.next_look_ns = open->is_resting ? open->last_activity_ns + quiet_wait_ns(*open) : now_ns;
    return false;
  };
  const std::int64_t oldest_open_ns = unfinished_.visit(now_ns, now_ns - kSettle_ns, soon, look);
  settled_ns_ = now_ns;
  forget_finished(now_ns);
  sink_.complete_until(oldest_open_ns);
}

void Assembler::forget_finished(std::int64_t now_ns) {
  constexpr std::size_t kAhead = 8;
  while (!finished_.empty()) {
    const Finished& oldest = finished_.front();
    if (finished_.size() <= limits_.finished && now_ns - oldest.ts_ns < kGrace_ns) {
      return;
    }
    if (finished_.size() > 2 * kAhead) {
      const Finished& next = finished_[kAhead];
      operations_.fetch_value(next.number);
      events_.fetch_value(next.event);
      events_.fetch_value(next.call);
      const Finished& after_next = finished_[2 * kAhead];
      operations_.fetch(after_next.number);
      events_.fetch(after_next.event);
      events_.fetch(after_next.call);
    }
    forget(oldest, now_ns);
    operations_.erase(oldest.number);
    finished_.pop_front();
  }
}

}  // namespace ringside::assemble
