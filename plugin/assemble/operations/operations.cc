// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/operations.h"

#include "plugin/assemble/message_bytes.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventType;

// How long an operation waits for its first proxy operation: the thread that makes it may be held
// up. Operations within a node never get one.
constexpr std::int64_t kChildWait_ns = 3'000'000'000;
// How long an operation waits for its kernel channels, while other kernels keep the GPU busy.
constexpr std::int64_t kKernelWait_ns = 60'000'000'000;
// How long after the finalize of a communicator callbacks of other threads may come.
constexpr std::int64_t kFinalizedWait_ns = 2'000'000'000;
// How long a finished operation stays known for late records.
constexpr std::int64_t kGrace_ns = 5'000'000'000;

}  // namespace

OpenOperation& Operations::start(const RecordView& view, std::uint64_t number,
                                 const NameTable& names) {
  number = number != 0 ? number : next_number_;
  next_number_ = std::max(next_number_, number + 1);
  OpenOperation& open = known_.insert(number);
  open.event = view.id;
  open.tally = {view.type, 1, 0};
  open.last_activity_ns = view.ts_ns;
  const record::CollPayload& coll = view.payload.coll;
  Operation& made = open.operation;
  made.number = number;
  made.kind = view.type == EventType::kColl  ? OperationKind::kColl
              : view.type == EventType::kP2p ? OperationKind::kP2p
                                             : OperationKind::kCopyEngine;
  made.context = view.context;
  made.tid = made.call_tid = view.tid;
  made.func = names.text(view.ring, coll.func);
  made.datatype = names.text(view.ring, coll.datatype);
  made.algo = names.text(view.ring, coll.algo);
  made.proto = names.text(view.ring, coll.proto);
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
      made.variant = names.text(view.ring, view.extra.variant);
    }
  }
  const auto bytes = message_bytes(made.count, made.datatype);
  made.has_bytes = bytes.has_value();
  made.bytes = bytes.value_or(0);
  return open;
}

void Operations::watch(OpenOperation& open, std::uint32_t types) {
  const Operation& operation = open.operation;
  open.expects_proxies = (types & record::bit(EventType::kProxyOp)) != 0;
  open.expects_kernels = (types & record::bit(EventType::kKernelCh)) != 0 &&
                         operation.channels > 0 && !operation.symmetric &&
                         operation.kind != OperationKind::kCopyEngine &&
                         communicators_.of(operation.context).abi_version >= 3;
  unfinished_.add(operation.number);
}

void Operations::end_enqueue(std::uint64_t number, const Event& enqueue, std::int64_t ts_ns) {
  if (OpenOperation* const open = find(number)) {
    open->operation.enqueue_end_ns = std::get<CallEvent>(enqueue.data).call.end_ns;
    open->last_activity_ns = ts_ns;
    open->tally.joined = enqueue.joined;
  }
}

void Operations::keep_kernel(OpenOperation& open, const KernelRow& row, const Tally& tally) {
  open.kernels.push_back({row, tally});
  ++open.kernels_stopped;
  ++kept_kernels_;
}

// How long an operation that expects no kernel channels must be without a record to be finished.
std::int64_t Operations::quiet_wait_ns(const OpenOperation& open) {
  const bool children_may_come = open.expects_proxies && open.proxy_last_ns == kUnknownTime &&
                                 open.operation.kind != OperationKind::kCopyEngine;
  return children_may_come ? kChildWait_ns : kSettle_ns;
}

bool Operations::is_finished(const OpenOperation& open, std::int64_t now_ns) const {
  if (!open.call_has_returned()) {
    return false;
  }
  const Operation& operation = open.operation;
  const std::int64_t finalized_ns = communicators_.of(operation.context).finalized_ns;
  const bool is_gone = finalized_ns != kUnknownTime && now_ns - finalized_ns >= kFinalizedWait_ns;
  if (open.open_children > 0) {
    return is_gone;
  }
  const std::int64_t quiet_ns = now_ns - open.last_activity_ns;
  if (!open.expects_kernels) {
    return quiet_ns >= quiet_wait_ns(open);
  }
  if (open.kernels_stopped >= operation.channels || is_gone) {
    return true;
  }
  const bool may_come_soon = open.kernels_stopped > 0 || progress_.has_later_on_gpu(operation);
  return quiet_ns >= (may_come_soon ? kSettle_ns : kKernelWait_ns);
}

void Operations::settle(std::int64_t now_ns, const std::function<void(OpenOperation&)>& finish) {
  const auto soon = [&](std::uint64_t number) { known_.fetch_value(number); };
  const auto look = [&](Unfinished::Entry& entry) {
    OpenOperation* const open = find(entry.number);
    if (open == nullptr || open->finished) {
      return true;
    }
    if (is_finished(*open, now_ns)) {
      open->is_resting = false;
      finish(*open);
      return true;
    }
    // An operation that only waits for quiet need not be checked before that time.
    open->is_resting =
        !open->expects_kernels && open->open_children == 0 && open->call_has_returned();
    entry.next_look_ns = open->is_resting ? open->last_activity_ns + quiet_wait_ns(*open) : now_ns;
    return false;
  };
  unfinished_.visit(now_ns, soon, look);
  settled_ns_ = now_ns;
}

void Operations::set_finished(OpenOperation& open, std::int64_t now_ns) {
  finished_.push_back({open.operation.number, open.event, open.call, now_ns});
  wake(open, now_ns);
  open.finished = true;
}

void Operations::forget_kernels(OpenOperation& open) {
  kept_kernels_ -= open.kernels.size();
  open.kernels = {};
}

const Operations::Finished* Operations::oldest_to_forget(std::size_t most,
                                                         std::int64_t now_ns) const {
  const bool is_due = finished_.size() > most ||
                      (!finished_.empty() && now_ns - finished_.front().ts_ns >= kGrace_ns);
  return is_due ? &finished_.front() : nullptr;
}

void Operations::forget_oldest() {
  known_.erase(finished_.front().number);
  finished_.pop_front();
}

void Operations::clear() {
  known_.clear();
  unfinished_.clear();
  finished_.clear();
  kept_kernels_ = 0;
}

}  // namespace ringside::assemble
