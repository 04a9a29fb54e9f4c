// SPDX-License-Identifier: Apache-2.0
//
// The state of an event between its first record and its line in the trace.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H
#define RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"
#include "plugin/assemble/tables/id_map.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {

struct CallEvent {
  Call call;
  std::uint64_t user_tag = 0;
  record::EventId parent = 0;
  std::int64_t group_gone_ns = kUnknownTime;  ///< when its GroupApi was first found to have ended
  bool has_child = false;                     ///< a Coll, P2p or CeColl came for it
  std::uint64_t child = 0;                    ///< the number of the last such operation
  bool is_held = false;  ///< it has ended, and waits for the decision of sampling
  std::uint64_t kept = 0, sampled_out = 0;  ///< counts of a group's operations, by sampling
  std::vector<record::EventId> launches;    ///< a group's KernelLaunch events that are held
};

struct ProxyOpEvent {
  ProxyOpRow row;
  std::vector<record::EventId> steps = {};  ///< steps that have not stopped
  std::uint64_t first_total = 0;            ///< NCCL's running totals of bytes (interface v1 to v3)
  std::uint64_t last_total = 0;
  bool has_total = false;
  int steps_with_bytes = 0;  ///< stopped steps whose bytes are known
  std::uint64_t step_bytes = 0;

  /// A state with arguments has come. NCCL 2.23 to 2.26 counts bytes over all operations of a
  /// channel and peer, so the first posted step still has the total of the operations before.
  void enter(const record::StatePayload& args) {
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
  void stop_step(const StepRow& step) {
    step_bytes += step.bytes;
    steps_with_bytes += step.has_bytes ? 1 : 0;
  }
  /// The sum of the steps' bytes is used only if all steps were seen.
  void stop(std::int64_t ts_ns) {
    row.end_ns = ts_ns;
    row.has_bytes = has_total || (steps_with_bytes > 0 && steps_with_bytes >= row.steps);
    row.bytes = has_total ? last_total - first_total : step_bytes;
  }
};

struct StepEvent {
  StepRow row;
  record::EventId id = 0;
  record::EventId proxy_op = 0;  ///< 0: it is not known, or has stopped
  /// In the order of the states that begin them.
  enum Phase : std::uint8_t { kSendGpu, kSend, kRecv, kRecvFlush, kRecvGpu, kSendPeer, kPhases };
  /// The time at which the step entered each phase. A send waits for the GPU, waits for the peer,
  /// and transfers. A receive transfers, flushes, and waits for the GPU.
  std::array<std::int64_t, kPhases> entered{kUnknownTime, kUnknownTime, kUnknownTime,
                                            kUnknownTime, kUnknownTime, kUnknownTime};

  void enter(const RecordView& view) {
    const Phase phase = phase_of(static_cast<record::EventState>(view.payload.state.state));
    if (phase == kPhases) {
      return;
    }
    std::int64_t& first_ns = entered[phase];
    first_ns = first_ns == kUnknownTime ? view.ts_ns : std::min(first_ns, view.ts_ns);
    // From 2.27 on, NCCL (transport/net.cc) has one transSize for all steps of a proxy operation,
    // and sets it just before these two states. Other states may bring another step's value.
    const bool has_bytes = phase == kSend || phase == kRecvFlush;
    if (has_bytes && (view.flags & record::kFlagArgsNull) == 0) {
      row.bytes = view.payload.state.value;
      row.has_bytes = true;
    }
  }
  /// Splits the step's time into phases. `until_ns` is now for a step in flight, else its end.
  void split_time(std::int64_t until_ns) {
    // A step in flight is still in its last phase. A stopped step may have lost the state that
    // ended a phase, and then the length of that phase is not known.
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

 private:
  static Phase phase_of(record::EventState state) {
    using record::EventState;
    const auto behind_first =
        static_cast<unsigned>(state) - static_cast<unsigned>(EventState::kStepSendGpuWait);
    return state == EventState::kStepSendPeerWait ? kSendPeer
           : behind_first < kSendPeer             ? static_cast<Phase>(behind_first)
                                                  : kPhases;
  }

  static std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) {
    return from_ns == kUnknownTime || to_ns == kUnknownTime
               ? 0
               : std::max<std::int64_t>(to_ns - from_ns, 0);
  }
};

struct Event {
  record::EventType type = record::EventType::kUnknown;
  std::uint32_t joined = 0;  ///< states and stops that were joined to it
  std::uint64_t operation = 0;
  bool sampled_out = false;
  std::variant<CallEvent, ProxyOpEvent, StepEvent, KernelRow, ControlRow, NetRow, CopyEngineRow,
               Mark>
      data{};

  Tally tally() const { return {type, 1, joined}; }
};

/// All events that are open or still referred to, by id.
using Events = IdMap<Event>;

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H
