// SPDX-License-Identifier: Apache-2.0
//
// What the communicators wait for. Looks only at what is open; nothing is kept for it by event.
#include <algorithm>

#include "plugin/assemble/assembler.h"

namespace ringside::assemble {
namespace {

using record::EventType;

// As the analyzer has it for steps in flight (docs/metrics.md).
TransferWait wait_of(const StepEvent& step) {
  const auto entered = [&](StepEvent::Phase phase) { return step.entered[phase] != kUnknownTime; };
  if (step.row.is_send) {
    return entered(StepEvent::kSend)       ? TransferWait::kNetwork
           : entered(StepEvent::kSendPeer) ? TransferWait::kPeer
           : entered(StepEvent::kSendGpu)  ? TransferWait::kGpu
                                           : TransferWait::kNotTold;
  }
  return entered(StepEvent::kRecvGpu)     ? TransferWait::kGpu
         : entered(StepEvent::kRecvFlush) ? TransferWait::kNetwork
         : entered(StepEvent::kRecv)      ? TransferWait::kPeer
                                          : TransferWait::kNotTold;
}

void earlier(std::int64_t& first_ns, std::int64_t ts_ns) {
  if (ts_ns != kUnknownTime) {
    first_ns = first_ns == kUnknownTime ? ts_ns : std::min(first_ns, ts_ns);
  }
}

void add_open_event(const Event& event, InFlight& found, std::int64_t& begun_ns) {
  if (const auto* proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    earlier(begun_ns, proxy->row.start_ns);
    if (proxy->steps.empty()) {
      ++found.transfers[{TransferWait::kNotTold, proxy->row.peer, proxy->row.is_send}];
    }
  } else if (const auto* step = std::get_if<StepEvent>(&event.data)) {
    ++found.transfers[{wait_of(*step), step->row.peer, step->row.is_send}];
  } else if (const auto* kernel = std::get_if<KernelRow>(&event.data)) {
    earlier(begun_ns, kernel->callback_start_ns);
    found.kernel_channels += event.type == EventType::kKernelCh ? 1 : 0;
  } else if (const auto* engine = std::get_if<CopyEngineRow>(&event.data)) {
    earlier(begun_ns, engine->start_ns);
  }
}

}  // namespace

void Assembler::note_end(const OpenOperation& open) {
  LastEnd& last = last_end_[open.operation.context];
  last.end_ns = std::max(last.end_ns, open.last_activity_ns);
  if (open.operation.number > last.number) {
    last.number = open.operation.number;
    last.group = open.operation.group;
  }
}

// NCCL runs the operations of a communicator in their order, those of a group together: one that
// a later one has overtaken is over, and its end was lost. Of sends and receives whose group is not
// known, nothing can be said.
bool Assembler::is_overtaken(const OpenOperation& open) const {
  const auto last = last_end_.find(open.operation.context);
  if (last == last_end_.end() || last->second.number < open.operation.number) {
    return false;
  }
  return open.operation.group != 0 ? last->second.group != open.operation.group
                                   : open.operation.kind != OperationKind::kP2p;
}

std::map<std::uint32_t, InFlightTotal> Assembler::in_flight_totals() const {
  std::map<std::uint32_t, InFlightTotal> totals;
  unfinished_.for_each([&](const Unfinished::Entry& entry) {
    const OpenOperation* const open = operations_.find(entry.number);
    if (open == nullptr || open->finished || open->open_children == 0 || is_overtaken(*open)) {
      return;
    }
    InFlightTotal& total = totals[open->operation.context];
    ++total.operations;
    total.bytes += open->operation.has_bytes ? open->operation.bytes : 0;
  });
  return totals;
}

std::vector<InFlight> Assembler::in_flight_since(std::int64_t until_ns) const {
  struct Front {
    const OpenOperation* open = nullptr;
    std::int64_t progress_ns = kUnknownTime;  ///< the last end of an operation
  };
  std::map<std::uint32_t, Front> fronts;  // by context
  unfinished_.for_each([&](const Unfinished::Entry& entry) {
    const OpenOperation* const open = operations_.find(entry.number);
    if (open == nullptr || open->finished) {
      return;
    }
    Front& front = fronts[open->operation.context];
    const bool call_returned = open->operation.enqueue_end_ns != kUnknownTime;
    if (open->open_children == 0 && call_returned) {
      // Over, and waiting for what may come late; or nothing but its enqueue was seen.
      if (open->proxy_last_ns != kUnknownTime || open->kernels_stopped > 0) {
        front.progress_ns = std::max(front.progress_ns, open->last_activity_ns);
      }
    } else if (front.open == nullptr && !is_overtaken(*open)) {
      front.open = open;
    }
  });
  std::map<std::uint64_t, std::pair<InFlight, std::int64_t>> found;  // and when it began
  for (const auto& [context, front] : fronts) {
    if (front.open == nullptr || front.open->operation.enqueue_start_ns > until_ns) {
      continue;
    }
    auto& [made, begun_ns] = found[front.open->operation.number];
    made.operation = front.open->operation;
    made.call_returned = made.operation.enqueue_end_ns != kUnknownTime;
    made.since_ns = front.progress_ns;
    const auto last = last_end_.find(context);
    if (last != last_end_.end()) {
      made.since_ns = std::max(made.since_ns, last->second.end_ns);
    }
    begun_ns =
        front.open->proxy_last_ns != kUnknownTime ? front.open->proxy_first_ns : kUnknownTime;
    for (const OpenOperation::Kernel& kernel : front.open->kernels) {
      earlier(begun_ns, kernel.row.callback_start_ns);
    }
  }
  if (found.empty()) {
    return {};
  }
  for (auto at_event = events_.oldest(); at_event; at_event.next()) {
    const auto at = found.find(at_event.value().operation);
    if (at != found.end()) {
      add_open_event(at_event.value(), at->second.first, at->second.second);
    }
  }
  std::vector<InFlight> since;
  for (auto& [number, entry] : found) {
    auto& [made, begun_ns] = entry;
    if (begun_ns == kUnknownTime) {
      // Of what else is open (a network plugin's event, say) nothing is known but its call; and of
      // a call that has not returned, if its thread has made others since, only the end was lost.
      if (made.call_returned || !slices_.is_silent_since(made.operation.tid, until_ns)) {
        continue;
      }
      begun_ns = made.operation.enqueue_start_ns;
    }
    made.since_ns = std::max(made.since_ns, begun_ns);
    if (made.since_ns <= until_ns) {
      since.push_back(std::move(made));
    }
  }
  return since;
}

}  // namespace ringside::assemble
