// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/event.h"

#include <algorithm>

#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

StepEvent::Phase phase_of(record::EventState state) {
  using record::EventState;
  switch (state) {
    case EventState::kStepSendGpuWait:
      return StepEvent::kSendGpu;
    case EventState::kStepSendPeerWait:
      return StepEvent::kSendPeer;
    case EventState::kStepSendWait:
      return StepEvent::kSend;
    case EventState::kStepRecvWait:
      return StepEvent::kRecv;
    case EventState::kStepRecvFlushWait:
      return StepEvent::kRecvFlush;
    case EventState::kStepRecvGpuWait:
      return StepEvent::kRecvGpu;
    default:
      return StepEvent::kPhases;
  }
}

std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) {
  return from_ns == kUnknownTime || to_ns == kUnknownTime
             ? 0
             : std::max<std::int64_t>(to_ns - from_ns, 0);
}

}  // namespace

// NCCL 2.23 to 2.26 count on over all operations of a channel and peer: the first step that is
// posted still has the total of those before.
void ProxyOpEvent::enter(const record::StatePayload& args) {
  using record::EventState;
  const auto state = static_cast<EventState>(args.state);
  if (state > EventState::kRecvDone) {
    return;
  }
  const bool is_posted = state == EventState::kSendPosted || state == EventState::kRecvPosted;
  if (!has_total && is_posted && args.steps <= 1) {
    first_total = args.value;
    has_total = true;
  }
  last_total = std::max(last_total, args.value);
}

// Where not all steps were seen, their sum is not what the operation has moved.
void ProxyOpEvent::stop(std::int64_t ts_ns) {
  row.end_ns = ts_ns;
  row.has_bytes = has_total || (steps_with_bytes > 0 && steps_with_bytes >= row.steps);
  row.bytes = has_total ? last_total - first_total : step_bytes;
}

bool StepEvent::enter(const RecordView& view) {
  const Phase phase = phase_of(static_cast<record::EventState>(view.payload.state.state));
  if (phase == kPhases) {
    return false;
  }
  std::int64_t& first_ns = entered[phase];
  first_ns = first_ns == kUnknownTime ? view.ts_ns : std::min(first_ns, view.ts_ns);
  // NCCL from 2.27 on (transport/net.cc) keeps one transSize for all steps of a proxy operation. It
  // sets it just before these two states; with others comes what another step has left there.
  const bool has_bytes = phase == kSend || phase == kRecvFlush;
  if (has_bytes && (view.flags & record::kFlagArgsNull) == 0) {
    row.bytes = view.payload.state.value;
    row.has_bytes = true;
  }
  return phase == kSend || phase == kRecvFlush || phase == kRecvGpu;
}

void StepEvent::split_time(std::int64_t until_ns) {
  // The phase that a step in flight is in lasts until now. One that has stopped may have lost the
  // state that would have ended it; how long it lasted is not known then.
  const std::int64_t open_ns = row.in_flight ? until_ns : kUnknownTime;
  const auto first = [](std::int64_t a_ns, std::int64_t b_ns) {
    return a_ns != kUnknownTime ? a_ns : b_ns;
  };
  const std::int64_t sent_ns = entered[kSend];
  const std::int64_t credit_ns = entered[kSendPeer];
  const std::int64_t flush_ns = entered[kRecvFlush];
  const std::int64_t gpu_ns = entered[kRecvGpu];
  if (row.is_send) {
    row.gpu_wait_ns = between(entered[kSendGpu], first(credit_ns, first(sent_ns, open_ns)));
    row.peer_wait_ns = between(credit_ns, first(sent_ns, open_ns));
    row.transfer_ns = between(sent_ns, until_ns);
  } else {
    row.transfer_ns = between(entered[kRecv], first(flush_ns, first(gpu_ns, until_ns)));
    row.flush_ns = between(flush_ns, first(gpu_ns, until_ns));
    row.gpu_wait_ns = between(gpu_ns, until_ns);
  }
}

}  // namespace ringside::assemble
