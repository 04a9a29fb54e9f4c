// SPDX-License-Identifier: Apache-2.0
//
// The types and states of NCCL's profiler events, with the names that the whole plugin uses. The
// numbers are NCCL's: a type's number is the number of its bit in the activation mask.
#ifndef RINGSIDE_PLUGIN_RECORD_EVENT_TYPE_H
#define RINGSIDE_PLUGIN_RECORD_EVENT_TYPE_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ringside::record {

enum class EventType : std::uint8_t {
  kGroup = 0,
  kColl = 1,
  kP2p = 2,
  kProxyOp = 3,
  kProxyStep = 4,
  kProxyCtrl = 5,
  kKernelCh = 6,
  kNetPlugin = 7,
  kGroupApi = 8,
  kCollApi = 9,
  kP2pApi = 10,
  kKernelLaunch = 11,
  kCeColl = 12,
  kCeSync = 13,
  kCeBatch = 14,
  kKernelPhase = 15,
  kUnknown = 16,  ///< bucket of the account for callbacks whose type cannot be known
  // Not NCCL's: the calls of ringside_mark, and those of ringside_push and ringside_pop.
  kMark = 17,
  kRange = 18,
};

inline constexpr int kEventTypes = 16;  ///< NCCL's
inline constexpr int kAccountTypes = 19;

constexpr bool is_of_application(EventType type) {
  return type == EventType::kMark || type == EventType::kRange;
}

constexpr std::uint32_t bit(EventType type) {
  return std::uint32_t{1} << static_cast<unsigned>(type);
}

/// Returns the type for a descriptor's `type` field, which has a single bit set; kUnknown for any
/// other value.
constexpr EventType type_of_bit(std::uint64_t bit) {
  // std::has_single_bit would be a function call on processors without an instruction that counts
  // bits.
  const std::uint64_t below = bit - 1;
  if (below >= (std::uint64_t{1} << kEventTypes) - 1 || (bit & below) != 0) {
    return EventType::kUnknown;
  }
  return static_cast<EventType>(std::countr_zero(bit));
}

/// The types that a version of the interface knows, as bits. No other bit may be set in NCCL's
/// mask: an adapter for an older version filters the events, but NCCL still pays for them.
constexpr std::uint32_t types_of_interface(int version) {
  constexpr std::array<EventType, 8> kEnd = {
      EventType::kGroup,    EventType::kKernelCh, EventType::kKernelCh,    EventType::kGroupApi,
      EventType::kGroupApi, EventType::kCeColl,   EventType::kKernelPhase, EventType::kUnknown};
  return version < 0 || version >= static_cast<int>(kEnd.size())
             ? 0
             : bit(kEnd[static_cast<std::size_t>(version)]) - 1;
}

enum class EventState : std::uint16_t {
  kSendPosted = 0,
  kSendRemFifoWait = 1,
  kSendTransmitted = 2,
  kSendDone = 3,
  kRecvPosted = 4,
  kRecvReceived = 5,
  kRecvTransmitted = 6,
  kRecvDone = 7,
  kStepSendGpuWait = 8,
  kStepSendWait = 9,
  kStepRecvWait = 10,
  kStepRecvFlushWait = 11,
  kStepRecvGpuWait = 12,
  kCtrlIdle = 13,
  kCtrlActive = 14,
  kCtrlSleep = 15,
  kCtrlWakeup = 16,
  kCtrlAppend = 17,
  kCtrlAppendEnd = 18,
  kProxyOpInProgress = 19,
  kStepSendPeerWait = 20,
  kNetPluginUpdate = 21,
  kKernelChStop = 22,
  kGroupStartApiStop = 23,
  kGroupEndApiStart = 24,
  kCeCollStart = 25,
  kCeCollComplete = 26,
  kCeSyncStart = 27,
  kCeSyncComplete = 28,
  kCeBatchStart = 29,
  kCeBatchComplete = 30,
  kKernelPhaseStop = 31,
};

constexpr bool is_step_state(EventState state) {
  return (state >= EventState::kStepSendGpuWait && state <= EventState::kStepRecvGpuWait) ||
         state == EventState::kStepSendPeerWait;
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_EVENT_TYPE_H
