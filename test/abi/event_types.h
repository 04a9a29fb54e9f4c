// SPDX-License-Identifier: Apache-2.0
//
// Event types and states of NCCL's profiler interface, as a program gives them to the plugin: by
// themselves, so that a wrong number in the plugin is found. Their numbers are the same in every
// version. An older version lacks the last ones.
#ifndef RINGSIDE_TEST_ABI_EVENT_TYPES_H
#define RINGSIDE_TEST_ABI_EVENT_TYPES_H

#include <cstdint>

namespace ringside::abi {

/// Bits of the activation mask; a descriptor's type is one of them.
enum EventType : std::uint32_t {
  kGroup = 1U << 0,
  kColl = 1U << 1,
  kP2p = 1U << 2,
  kProxyOp = 1U << 3,
  kProxyStep = 1U << 4,
  kProxyCtrl = 1U << 5,
  kKernelCh = 1U << 6,       // v3
  kNetPlugin = 1U << 7,      // v3
  kGroupApi = 1U << 8,       // v5
  kCollApi = 1U << 9,        // v5
  kP2pApi = 1U << 10,        // v5
  kKernelLaunch = 1U << 11,  // v5
  kCeColl = 1U << 12,        // v6
  kCeSync = 1U << 13,        // v6
  kCeBatch = 1U << 14,       // v6
  kKernelPhase = 1U << 15,   // v7
};

inline constexpr int kEventTypeCount = 16;

/// The values that recordEventState reports.
enum EventState : int {
  kProxyOpSendPosted = 0,  // 0 to 7: ProxyOp, native versions 1 to 3 only
  kProxyOpSendRemFifoWait = 1,
  kProxyOpSendTransmitted = 2,
  kProxyOpSendDone = 3,
  kProxyOpRecvPosted = 4,
  kProxyOpRecvReceived = 5,
  kProxyOpRecvTransmitted = 6,
  kProxyOpRecvDone = 7,
  kProxyStepSendGpuWait = 8,
  kProxyStepSendWait = 9,
  kProxyStepRecvWait = 10,
  kProxyStepRecvFlushWait = 11,
  kProxyStepRecvGpuWait = 12,
  kProxyCtrlIdle = 13,
  kProxyCtrlActive = 14,
  kProxyCtrlSleep = 15,
  kProxyCtrlWakeup = 16,
  kProxyCtrlAppend = 17,
  kProxyCtrlAppendEnd = 18,
  kProxyOpInProgress = 19,      // v4
  kProxyStepSendPeerWait = 20,  // v4
  kNetPluginUpdate = 21,        // v4
  kKernelChStop = 22,           // v4
  kGroupStartApiStop = 23,      // v5
  kGroupEndApiStart = 24,       // v5
  kCeCollStart = 25,            // 25 to 30: v6; declared, but NCCL sends none of them
  kCeCollComplete = 26,
  kCeSyncStart = 27,
  kCeSyncComplete = 28,
  kCeBatchStart = 29,
  kCeBatchComplete = 30,
  kKernelPhaseStop = 31,  // v7
};

/// The bits that a version of the interface knows. No other bit may be set in NCCL's mask: an
/// adapter for an older version filters the events, but NCCL still pays for them.
constexpr std::uint32_t valid_event_mask(int abi_version) {
  switch (abi_version) {
    case 1:
    case 2:
      return (1U << 6) - 1;
    case 3:
    case 4:
      return (1U << 8) - 1;
    case 5:
      return (1U << 12) - 1;
    case 6:
      return (1U << 15) - 1;
    case 7:
      return (1U << 16) - 1;
    default:
      return 0;
  }
}

}  // namespace ringside::abi

#endif  // RINGSIDE_TEST_ABI_EVENT_TYPES_H
