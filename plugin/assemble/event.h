// SPDX-License-Identifier: Apache-2.0
//
// What the assembler keeps of an event between its first record and its line in the trace.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H
#define RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "plugin/assemble/rows.h"
#include "plugin/record/handle.h"

namespace ringside::assemble {

struct CallEvent {
  Call call;
  std::uint64_t user_tag = 0;
  record::EventId parent = 0;
  std::int64_t group_gone_ns = kUnknownTime;  ///< when its GroupApi was first seen to have ended
  bool has_child = false;                     ///< a Coll, P2p or CeColl came for it
  std::uint64_t child = 0;                    ///< the number of the last such operation
  bool is_held = false;                       ///< it has ended, and waits for what its child is
  std::uint64_t kept = 0, left_out = 0;       ///< operations enqueued within a group
  std::vector<record::EventId> launches;      ///< of a group, that are held
};

struct ProxyOpEvent {
  ProxyOpRow row;
  std::vector<record::EventId> steps;  ///< that have not stopped
  std::uint64_t first_total = 0;       ///< NCCL's running totals of bytes (native v1 to v3)
  std::uint64_t last_total = 0;
  bool has_total = false;
  int steps_told = 0;  ///< that have stopped, and whose bytes NCCL has told
  std::uint64_t step_bytes = 0;
};

struct StepEvent {
  StepRow row;
  record::EventId id = 0;
  record::EventId proxy_op = 0;
  /// When it entered: waiting for the GPU, for the peer, sending; receiving, flushing, for the GPU.
  enum Phase : std::uint8_t { kSendGpu, kSendPeer, kSend, kRecv, kRecvFlush, kRecvGpu, kPhases };
  std::array<std::int64_t, kPhases> entered{kUnknownTime, kUnknownTime, kUnknownTime,
                                            kUnknownTime, kUnknownTime, kUnknownTime};
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

/// An operation while it is open, and for a while after, for those that come late.
struct OpenOperation {
  // First what is looked at while there are many: it is in one cache line.
  record::EventId event = 0;  ///< of the Coll, P2p or CeColl
  record::EventId call = 0;   ///< of its CollApi or P2pApi; 0: none
  Tally tally;
  int open_children = 0;
  int kernels_stopped = 0;
  bool expects_proxies = false;  ///< proxy operations are asked for, as are kernel channels below
  bool expects_kernels = false;
  bool finished = false;
  bool is_resting = false;  ///< not looked at before it can be finished, unless something comes
  std::int64_t last_activity_ns = 0;
  Operation operation;
  std::int64_t earliest_ns = kUnknownTime;  ///< before which its kernel cannot have started
  std::int64_t network_first_ns = kUnknownTime;
  std::int64_t proxy_first_ns = kUnknownTime, proxy_last_ns = kUnknownTime;
  struct Kernel {
    KernelRow row;
    Tally tally;
  };
  std::vector<Kernel> kernels;  ///< whose slices are written with the operation
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_EVENT_H
