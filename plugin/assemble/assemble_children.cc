// SPDX-License-Identifier: Apache-2.0
//
// What comes after an operation's enqueue, from other threads: proxy operations, steps, kernel
// channels, and the events that belong to no operation.
#include <algorithm>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/event_names.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventId;
using record::EventState;
using record::EventType;

void lower(std::int64_t& earliest, std::int64_t ts_ns) {
  earliest = earliest == kUnknownTime ? ts_ns : std::min(earliest, ts_ns);
}

std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) {
  return from_ns == kUnknownTime || to_ns == kUnknownTime
             ? 0
             : std::max<std::int64_t>(to_ns - from_ns, 0);
}

void read_net(const RecordView& view, NetRow& to) {
  if ((view.flags & record::kFlagNetIb) != 0) {
    const record::NetIbPayload& ib = view.payload.net_ib;
    to.net_id = record::kNetIbV1;
    to.length_bytes = ib.length_bytes;
    to.device_or_fd = ib.device;
    to.opcode = ib.opcode;
    to.work_request = ib.work_request;
    to.queue_pair = ib.queue_pair;
    return;
  }
  const record::NetPayload& net = view.payload.net;
  to.net_id = net.id;
  to.length_bytes = net.length_bytes;
  to.device_or_fd = net.device_or_fd;
  to.opcode = net.opcode;
  if (view.has_extra && net.id == record::kNetIbV1) {
    to.work_request = view.extra.stream_or_wr;
    to.queue_pair = view.extra.rank_or_qp;
  }
}

}  // namespace

void Assembler::start_child(const RecordView& view) {
  Event event{view.type, 0, 0, false, ControlRow{}};
  Event* const above = events_.find(view.payload.step.parent);
  event.operation = above != nullptr ? above->operation : given_operation_;
  joined_operation_ = event.operation;
  OpenOperation* const operation = open_operation(event.operation);
  event.sampled_out = above != nullptr && above->sampled_out;

  ChildRow common;
  common.id = row_id(view.id);
  common.operation = event.operation;
  common.context =
      view.context != 0 || operation == nullptr ? view.context : operation->operation.context;
  common.tid = view.tid;
  common.start_ns = view.ts_ns;
  const record::KernelPayload& kernel = view.payload.kernel;
  switch (view.type) {
    case EventType::kProxyOp: {
      const record::ProxyOpPayload& op = view.payload.proxy_op;
      ProxyOpEvent made;
      static_cast<ChildRow&>(made.row) = common;
      made.row.channel = op.channel;
      made.row.peer = op.peer;
      made.row.steps = op.steps;
      made.row.chunk_bytes = op.chunk_bytes;
      made.row.is_send = op.is_send != 0;
      made.row.foreign = (view.flags & record::kFlagForeign) != 0;
      if (made.row.foreign) {
        made.row.foreign_pid = op.pid;
        made.row.foreign_context = view.extra.foreign_context;
        made.row.foreign_parent = view.extra.foreign_parent;
      } else if (operation != nullptr) {
        made.row.func = operation->operation.func;
      }
      event.data = std::move(made);
      break;
    }
    case EventType::kProxyStep: {
      StepEvent made;
      static_cast<ChildRow&>(made.row) = common;
      made.id = view.id;
      made.row.step = view.payload.step.step;
      if (above != nullptr && above->type == EventType::kProxyOp) {
        auto& proxy = std::get<ProxyOpEvent>(above->data);
        made.row.channel = proxy.row.channel;
        made.row.peer = proxy.row.peer;
        made.row.is_send = proxy.row.is_send;
        // A foreign operation's steps bring its foreign context.
        made.row.context = proxy.row.context;
        made.proxy_op = view.payload.step.parent;
        proxy.steps.push_back(view.id);
      }
      event.data = made;
      break;
    }
    case EventType::kKernelCh:
    case EventType::kKernelPhase: {
      KernelRow made;
      static_cast<ChildRow&>(made) = common;
      made.channel = kernel.channel;
      made.phase = view.type == EventType::kKernelPhase ? kernel.phase : -1;
      made.gpu_start = kernel.gpu_time;
      made.callback_start_ns = view.ts_ns;
      if (kernel.gpu_time != 0) {
        gpu_clocks_.clock(common.context).add(kernel.gpu_time, view.ts_ns);
      }
      event.data = made;
      break;
    }
    case EventType::kNetPlugin: {
      NetRow made;
      static_cast<ChildRow&>(made) = common;
      read_net(view, made);
      event.data = made;
      break;
    }
    case EventType::kCeSync:
    case EventType::kCeBatch: {
      CopyEngineRow made;
      static_cast<ChildRow&>(made) = common;
      made.type = view.type;
      made.bytes = view.payload.copy_engine.bytes;
      made.number = view.payload.copy_engine.number;
      made.flag = view.payload.copy_engine.flag != 0;
      event.data = made;
      break;
    }
    default: {
      ControlRow made;
      static_cast<ChildRow&>(made) = common;
      event.data = made;
      break;
    }
  }
  // Steps are counted through their proxy operation, which outlives them.
  if (operation != nullptr && view.type != EventType::kProxyStep) {
    ++operation->open_children;
    operation->last_activity_ns = view.ts_ns;
    wake(*operation, view.ts_ns);
  }
  events_.insert(view.id, std::move(event));
}

void Assembler::state_of_child(const RecordView& view, Event& event) {
  const record::StatePayload& args = view.payload.state;
  const auto state = static_cast<EventState>(args.state);
  const bool has_args = (view.flags & record::kFlagArgsNull) == 0;
  if (auto* proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    if (state <= EventState::kRecvDone && has_args) {
      // NCCL 2.23 to 2.26 count on over all operations of a channel and peer. The first step that
      // is posted still has the total of those before.
      const bool is_posted = state == EventState::kSendPosted || state == EventState::kRecvPosted;
      if (!proxy->has_total && is_posted && args.steps <= 1) {
        proxy->first_total = args.value;
        proxy->has_total = true;
      }
      proxy->last_total = std::max(proxy->last_total, args.value);
    }
    OpenOperation* const operation = open_operation(event.operation);
    if (operation != nullptr &&
        (state == EventState::kSendTransmitted || state == EventState::kRecvReceived)) {
      lower(operation->network_first_ns, view.ts_ns);
    }
  } else if (auto* step = std::get_if<StepEvent>(&event.data)) {
    state_of_step(view, *step, event.operation);
  } else if (auto* kernel = std::get_if<KernelRow>(&event.data)) {
    if (state == EventState::kKernelChStop || state == EventState::kKernelPhaseStop) {
      kernel->gpu_stop = args.value;
      kernel->callback_stop_ns = view.ts_ns;
      if (args.value != 0) {
        gpu_clocks_.clock(kernel->context).add(args.value, view.ts_ns);
      }
    }
  } else if (auto* control = std::get_if<ControlRow>(&event.data)) {
    control->state = control_state_name(state);
    control->appended = args.value;
  }
}

void Assembler::state_of_step(const RecordView& view, StepEvent& step, std::uint64_t number) {
  StepEvent::Phase phase = StepEvent::kPhases;
  bool moves = false;  // leaves its waiting for the GPU or the peer
  switch (static_cast<EventState>(view.payload.state.state)) {
    case EventState::kStepSendGpuWait:
      phase = StepEvent::kSendGpu;
      break;
    case EventState::kStepSendPeerWait:
      phase = StepEvent::kSendPeer;
      break;
    case EventState::kStepSendWait:
      phase = StepEvent::kSend;
      moves = true;
      break;
    case EventState::kStepRecvWait:
      phase = StepEvent::kRecv;
      break;
    case EventState::kStepRecvFlushWait:
      phase = StepEvent::kRecvFlush;
      moves = true;
      break;
    case EventState::kStepRecvGpuWait:
      phase = StepEvent::kRecvGpu;
      moves = true;
      break;
    default:
      return;
  }
  lower(step.entered[phase], view.ts_ns);
  // NCCL from 2.27 on (transport/net.cc) keeps one transSize for all steps of a proxy operation.
  // It sets it just before these two states; with others comes what another step has left there.
  const bool tells_bytes = phase == StepEvent::kSend || phase == StepEvent::kRecvFlush;
  if (tells_bytes && (view.flags & record::kFlagArgsNull) == 0) {
    step.row.bytes = view.payload.state.value;
    step.row.has_bytes = true;
  }
  OpenOperation* const operation = open_operation(number);
  if (moves && operation != nullptr) {
    lower(operation->network_first_ns, view.ts_ns);
  }
}

void Assembler::stop_child(const RecordView& view, Event& event) {
  OpenOperation* const operation = open_operation(event.operation);
  if (operation != nullptr && event.type != EventType::kProxyStep) {
    --operation->open_children;
    operation->last_activity_ns = view.ts_ns;
    wake(*operation, view.ts_ns);
  }
  if (auto* proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    stop_proxy_op(*proxy, event, view.ts_ns);
  } else if (auto* step = std::get_if<StepEvent>(&event.data)) {
    stop_step(*step, event, view.ts_ns, false);
  } else if (auto* kernel = std::get_if<KernelRow>(&event.data)) {
    stop_kernel(*kernel, event, view.ts_ns);
  } else if (auto* control = std::get_if<ControlRow>(&event.data)) {
    control->end_ns = view.ts_ns;
    sink_.row(control, event.tally());
  } else if (auto* net = std::get_if<NetRow>(&event.data)) {
    net->end_ns = view.ts_ns;
    write_row(event, net);
  } else if (auto* engine = std::get_if<CopyEngineRow>(&event.data)) {
    engine->end_ns = view.ts_ns;
    write_row(event, engine);
  }
}

void Assembler::stop_proxy_op(ProxyOpEvent& proxy, Event& event, std::int64_t ts_ns) {
  // NCCL 2.24 to 2.26 never stop many receiving steps; they end with their proxy operation.
  for (const EventId id : proxy.steps) {
    if (Event* const found = events_.find(id)) {
      auto& step = std::get<StepEvent>(found->data);
      step.proxy_op = 0;
      proxy.step_bytes += step.row.bytes;
      proxy.steps_told += step.row.has_bytes ? 1 : 0;
      stop_step(step, *found, ts_ns, true);
      events_.erase(id);
    }
  }
  ProxyOpRow& row = proxy.row;
  row.end_ns = ts_ns;
  // Where not all steps were seen, their sum is not what the operation has moved.
  row.has_bytes = proxy.has_total || (proxy.steps_told > 0 && proxy.steps_told >= row.steps);
  row.bytes = proxy.has_total ? proxy.last_total - proxy.first_total : proxy.step_bytes;
  if (OpenOperation* operation = open_operation(event.operation)) {
    lower(operation->proxy_first_ns, row.start_ns);
    operation->proxy_last_ns = std::max(operation->proxy_last_ns, ts_ns);
  }
  write_row(event, &row);
}

void Assembler::split_time(StepEvent& step, std::int64_t until_ns) {
  StepRow& row = step.row;
  const auto& entered = step.entered;
  // The phase that a step in flight is in lasts until now. One that has stopped may have lost the
  // state that would have ended it; how long it lasted is not known then.
  const std::int64_t open_ns = row.in_flight ? until_ns : kUnknownTime;
  const auto first = [](std::int64_t a_ns, std::int64_t b_ns) {
    return a_ns != kUnknownTime ? a_ns : b_ns;
  };
  const std::int64_t sent_ns = entered[StepEvent::kSend];
  const std::int64_t credit_ns = entered[StepEvent::kSendPeer];
  const std::int64_t flush_ns = entered[StepEvent::kRecvFlush];
  const std::int64_t gpu_ns = entered[StepEvent::kRecvGpu];
  if (row.is_send) {
    row.gpu_wait_ns =
        between(entered[StepEvent::kSendGpu], first(credit_ns, first(sent_ns, open_ns)));
    row.peer_wait_ns = between(credit_ns, first(sent_ns, open_ns));
    row.transfer_ns = between(sent_ns, until_ns);
  } else {
    row.transfer_ns = between(entered[StepEvent::kRecv], first(flush_ns, first(gpu_ns, until_ns)));
    row.flush_ns = between(flush_ns, first(gpu_ns, until_ns));
    row.gpu_wait_ns = between(gpu_ns, until_ns);
  }
}

void Assembler::stop_step(StepEvent& step, const Event& event, std::int64_t ts_ns, bool unstopped) {
  StepRow& row = step.row;
  row.end_ns = ts_ns;
  row.unstopped = unstopped;
  split_time(step, ts_ns);
  if (Event* const proxy = events_.find(step.proxy_op)) {
    auto& above = std::get<ProxyOpEvent>(proxy->data);
    above.step_bytes += row.bytes;
    above.steps_told += row.has_bytes ? 1 : 0;
    std::erase(above.steps, step.id);
  }
  write_row(event, &row);
}

void Assembler::stop_kernel(KernelRow& kernel, const Event& event, std::int64_t ts_ns) {
  if (kernel.callback_stop_ns == kUnknownTime) {
    kernel.callback_stop_ns = ts_ns;
  }
  OpenOperation* const operation = open_operation(event.operation);
  if (operation != nullptr && !operation->finished && event.type == EventType::kKernelCh) {
    ++operation->kernels_stopped;
    operation->kernels.push_back({kernel, event.tally()});
    ++kernels_held_;
    return;
  }
  if (!event.sampled_out) {
    gpu_clocks_.place(kernel, operation != nullptr ? operation->earliest_ns : kUnknownTime);
    write_changed_fits();
  }
  write_row(event, &kernel);
}

}  // namespace ringside::assemble
