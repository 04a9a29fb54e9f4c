// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/children.h"

#include "plugin/assemble/event_names.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventId;
using record::EventState;
using record::EventType;

ProxyOpEvent proxy_op_event(const ChildRow& common, const RecordView& view,
                            const OpenOperation* operation) {
  const record::ProxyOpPayload& op = view.payload.proxy_op;
  ProxyOpEvent made{{common}};
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
  return made;
}

StepEvent step_event(const ChildRow& common, const RecordView& view, Event* above) {
  StepEvent made;
  static_cast<ChildRow&>(made.row) = common;
  made.id = view.id;
  made.row.step = view.payload.step.step;
  if (above != nullptr && above->type == EventType::kProxyOp) {
    auto& proxy = std::get<ProxyOpEvent>(above->data);
    made.row.channel = proxy.row.channel;
    made.row.peer = proxy.row.peer;
    made.row.is_send = proxy.row.is_send;
    // A step of a foreign proxy operation has the foreign context.
    made.row.context = proxy.row.context;
    made.proxy_op = view.payload.step.parent;
    proxy.steps.push_back(view.id);
  }
  return made;
}

KernelRow kernel_row(const ChildRow& common, const RecordView& view) {
  const record::KernelPayload& kernel = view.payload.kernel;
  KernelRow made{common};
  made.channel = kernel.channel;
  made.phase = view.type == EventType::kKernelPhase ? kernel.phase : -1;
  made.gpu_start = kernel.gpu_time;
  made.callback_start_ns = view.ts_ns;
  return made;
}

NetRow net_row(const ChildRow& common, const RecordView& view) {
  NetRow made{common};
  if ((view.flags & record::kFlagNetIb) != 0) {
    const record::NetIbPayload& ib = view.payload.net_ib;
    made.net_id = record::kNetIbV1;
    made.length_bytes = ib.length_bytes;
    made.device_or_fd = ib.device;
    made.opcode = ib.opcode;
    made.work_request = ib.work_request;
    made.queue_pair = ib.queue_pair;
    return made;
  }
  const record::NetPayload& net = view.payload.net;
  made.net_id = net.id;
  made.length_bytes = net.length_bytes;
  made.device_or_fd = net.device_or_fd;
  made.opcode = net.opcode;
  if (view.has_extra && net.id == record::kNetIbV1) {
    made.work_request = view.extra.stream_or_wr;
    made.queue_pair = view.extra.rank_or_qp;
  }
  return made;
}

CopyEngineRow copy_engine_row(const ChildRow& common, const RecordView& view) {
  CopyEngineRow made{common};
  made.type = view.type;
  made.bytes = view.payload.copy_engine.bytes;
  made.number = view.payload.copy_engine.number;
  made.flag = view.payload.copy_engine.flag != 0;
  return made;
}

}  // namespace

std::uint64_t Children::start(const RecordView& view, std::uint64_t given_operation) {
  Event* const above = events_.find(view.payload.step.parent);
  const std::uint64_t number = above != nullptr ? above->operation : given_operation;
  const bool is_sampled_out = above != nullptr && above->sampled_out;
  OpenOperation* const operation = operations_.find(number);
  ChildRow common;
  common.id = row_id(view.id);
  common.operation = number;
  common.context =
      view.context != 0 || operation == nullptr ? view.context : operation->operation.context;
  common.tid = view.tid;
  common.start_ns = view.ts_ns;
  const auto insert = [&](auto data) {
    events_.insert(view.id, view.type, 0U, number, is_sampled_out, std::move(data));
  };
  switch (view.type) {
    case EventType::kProxyOp:
      insert(proxy_op_event(common, view, operation));
      break;
    case EventType::kProxyStep:
      insert(step_event(common, view, above));
      return number;
    case EventType::kKernelCh:
    case EventType::kKernelPhase:
      insert(kernel_row(common, view));
      gpu_clocks_.add(common.context, view.payload.kernel.gpu_time, view.ts_ns);
      break;
    case EventType::kNetPlugin:
      insert(net_row(common, view));
      break;
    case EventType::kCeSync:
    case EventType::kCeBatch:
      insert(copy_engine_row(common, view));
      break;
    default:
      insert(ControlRow{common});
      break;
  }
  if (operation != nullptr) {
    operations_.start_child(*operation, view.ts_ns);
  }
  return number;
}

void Children::state(const RecordView& view, Event& event) {
  const record::StatePayload& args = view.payload.state;
  const auto state = static_cast<EventState>(args.state);
  if (auto* const proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    if ((view.flags & record::kFlagArgsNull) == 0) {
      proxy->enter(args);
    }
  } else if (auto* const step = std::get_if<StepEvent>(&event.data)) {
    step->enter(view);
  } else if (auto* const kernel = std::get_if<KernelRow>(&event.data)) {
    if (state == EventState::kKernelChStop || state == EventState::kKernelPhaseStop) {
      kernel->gpu_stop = args.value;
      kernel->callback_stop_ns = view.ts_ns;
      gpu_clocks_.add(kernel->context, args.value, view.ts_ns);
    }
  } else if (auto* const control = std::get_if<ControlRow>(&event.data)) {
    control->state = control_state_name(state);
    control->appended = args.value;
  }
  take_data(event, data_state(state), view.ts_ns);
}

void Children::take_data(const Event& event, DataState state, std::int64_t ts_ns) {
  if (state == DataState::kNone) {
    return;
  }
  if (OpenOperation* const operation = operations_.find(event.operation)) {
    operation->take_data(state, ts_ns);
  }
}

OpenOperation* Children::stop(const RecordView& view, Event& event) {
  OpenOperation* const operation = operations_.find(event.operation);
  if (operation != nullptr && event.type != EventType::kProxyStep) {
    operations_.stop_child(*operation, view.ts_ns);
  }
  const auto end_row = [&](auto& row) {
    row.end_ns = view.ts_ns;
    rows_.write(&row, event.tally(), event.sampled_out);
  };
  if (auto* const proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    if (operation != nullptr) {
      operation->end_proxy_op(proxy->row.start_ns, view.ts_ns);
    }
    stop_proxy_op(*proxy, event, view.ts_ns);
  } else if (auto* const step = std::get_if<StepEvent>(&event.data)) {
    // NCCL ends the step of a receive once the GPU has emptied the buffer.
    take_data(event, step->row.is_send ? DataState::kNone : DataState::kTaken, view.ts_ns);
    stop_step(*step, event, view.ts_ns);
  } else if (auto* const kernel = std::get_if<KernelRow>(&event.data)) {
    if (kernel->callback_stop_ns == kUnknownTime) {
      kernel->callback_stop_ns = view.ts_ns;
    }
  } else if (auto* const control = std::get_if<ControlRow>(&event.data)) {
    end_row(*control);
  } else if (auto* const net = std::get_if<NetRow>(&event.data)) {
    end_row(*net);
  } else if (auto* const engine = std::get_if<CopyEngineRow>(&event.data)) {
    end_row(*engine);
  }
  return operation;
}

void Children::stop_proxy_op(ProxyOpEvent& proxy, const Event& event, std::int64_t ts_ns) {
  // NCCL 2.24 to 2.26 never stops many receiving steps. They end with their proxy operation.
  for (const EventId id : proxy.steps) {
    if (Event* const found = events_.find(id)) {
      auto& step = std::get<StepEvent>(found->data);
      step.proxy_op = 0;
      step.row.unstopped = true;
      proxy.stop_step(step.row);
      stop_step(step, *found, ts_ns);
      events_.erase(id);
    }
  }
  proxy.stop(ts_ns);
  rows_.write(&proxy.row, event.tally(), event.sampled_out);
}

void Children::stop_step(StepEvent& step, const Event& event, std::int64_t ts_ns) {
  step.row.end_ns = ts_ns;
  step.split_time(ts_ns);
  if (Event* const above = events_.find(step.proxy_op)) {
    auto& proxy = std::get<ProxyOpEvent>(above->data);
    proxy.stop_step(step.row);
    std::erase(proxy.steps, step.id);
  }
  rows_.write(&step.row, event.tally(), event.sampled_out);
}

void Children::write_open(Sink& sink, const Event& event, std::int64_t now_ns) {
  const auto write = [&](auto row) {
    row.in_flight = true;
    sink.row(&row, event.tally());
  };
  std::visit(
      Overloaded{[](const CallEvent&) {}, [&](const ProxyOpEvent& proxy) { write(proxy.row); },
                 [&](StepEvent step) {
                   step.row.in_flight = true;
                   step.split_time(now_ns);
                   write(step.row);
                 },
                 [&](KernelRow kernel) {
                   kernel.end_ns = kernel.callback_stop_ns;
                   write(kernel);
                 },
                 [&](const auto& row) { write(row); }},
      event.data);
}

}  // namespace ringside::assemble
