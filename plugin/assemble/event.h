// SPDX-License-Identifier: Apache-2.0
//
// What the assembler keeps of an event between its first record and its line in the trace.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H
#define RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "plugin/assemble/id_map.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"

namespace ringside::assemble {

struct CallEvent {
  Call call;
  std::uint64_t user_tag = 0;
  record::EventId parent = 0;
  std::int64_t group_gone_ns = kUnknownTime;  ///< when its GroupApi was first seen to have ended
  bool has_child = false;                     ///< a Coll, P2p or CeColl came for it
  std::uint64_t child = 0;                    ///< the number of the last such operation
  bool is_held = false;  ///< it has ended, and waits until it is known what sampling keeps
  std::uint64_t kept = 0, sampled_out = 0;  ///< operations that were enqueued within a group
  std::vector<record::EventId> launches;    ///< held ones of a group
};

struct ProxyOpEvent {
  ProxyOpRow row;
  std::vector<record::EventId> steps;  ///< that have not stopped
  std::uint64_t first_total = 0;       ///< NCCL's running totals of bytes (native v1 to v3)
  std::uint64_t last_total = 0;
  bool has_total = false;
  int steps_with_bytes = 0;  ///< that have stopped, and whose bytes are known
  std::uint64_t step_bytes = 0;

  /// A state has come, with arguments.
  void enter(const record::StatePayload& args);
  void stop_step(const StepRow& step) {
    step_bytes += step.bytes;
    steps_with_bytes += step.has_bytes ? 1 : 0;
  }
  void stop(std::int64_t ts_ns);
};

struct StepEvent {
  StepRow row;
  record::EventId id = 0;
  record::EventId proxy_op = 0;  ///< 0: not known, or it has stopped
  /// The first three are those of a send, the others those of a receive.
  enum Phase : std::uint8_t { kSendGpu, kSendPeer, kSend, kRecv, kRecvFlush, kRecvGpu, kPhases };
  /// When it entered each phase: waiting for the GPU, for the peer, sending; receiving, flushing,
  /// waiting for the GPU.
  std::array<std::int64_t, kPhases> entered{kUnknownTime, kUnknownTime, kUnknownTime,
                                            kUnknownTime, kUnknownTime, kUnknownTime};

  /// A state has come. Returns whether it shows that the step's data moves or has moved: the step
  /// no longer waits for the GPU or the peer.
  bool enter(const RecordView& view);
  /// Says in the row where the time went: of a step in flight until this time, of another one until
  /// its end, which is this time.
  void split_time(std::int64_t until_ns);
};

struct Event {
  record::EventType type = record::EventType::kUnknown;
  std::uint32_t joined = 0;  ///< states and stops
  std::uint64_t operation = 0;
  bool sampled_out = false;
  std::variant<CallEvent, ProxyOpEvent, StepEvent, KernelRow, ControlRow, NetRow, CopyEngineRow>
      data{};

  Tally tally() const { return {type, 1, joined}; }
};

/// All events that are open or still referred to, by id.
using Events = IdMap<Event>;

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H
