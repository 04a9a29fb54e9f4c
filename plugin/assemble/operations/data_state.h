// SPDX-License-Identifier: Apache-2.0
//
// How far data on the network have come, and so whether the rank's GPU takes part already.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_DATA_STATE_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_DATA_STATE_H

#include <cstdint>

#include "plugin/record/event_type.h"

namespace ringside::assemble {

enum class DataState : std::uint8_t {
  kNone,      ///< no data have moved
  kGiven,     ///< the GPU has filled a buffer, whether the receiver is ready or not
  kSent,      ///< the receiver was ready, too
  kReceived,  ///< they lie in a buffer, whether the GPU is there or not
  kTaken,     ///< the GPU has emptied a buffer
};

/// Returns what a state of a proxy operation or step shows. NCCL (transport/net.cc) enters the
/// wait for the receiver's credit once the GPU has filled the buffer.
constexpr DataState data_state(record::EventState state) {
  using record::EventState;
  switch (state) {
    case EventState::kSendRemFifoWait:
    case EventState::kStepSendPeerWait:
      return DataState::kGiven;
    case EventState::kSendTransmitted:
    case EventState::kStepSendWait:
      return DataState::kSent;
    case EventState::kRecvReceived:
    case EventState::kRecvTransmitted:
    case EventState::kStepRecvFlushWait:
    case EventState::kStepRecvGpuWait:
      return DataState::kReceived;
    case EventState::kRecvDone:
      return DataState::kTaken;
    default:
      return DataState::kNone;
  }
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_DATA_STATE_H
