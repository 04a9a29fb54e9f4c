// SPDX-License-Identifier: Apache-2.0
//
// An operation until it is finished, and for a while after that, for late records.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_OPEN_OPERATION_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_OPEN_OPERATION_H

#include <cstdint>
#include <vector>

#include "plugin/assemble/rows.h"
#include "plugin/record/handle.h"

namespace ringside::assemble {

/// How far data on the network have come, and so whether the rank's GPU takes part already.
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

struct OpenOperation {
  // Searches over many operations read the first members, which share a cache line.
  record::EventId event = 0;  ///< the Coll, P2p or CeColl event
  record::EventId call = 0;   ///< the CollApi or P2pApi event; 0: none
  Tally tally;
  int open_children = 0;
  int kernels_stopped = 0;
  bool expects_proxies = false;  ///< NCCL was asked for proxy operations
  bool expects_kernels = false;  ///< NCCL was asked for kernel channels
  bool finished = false;
  bool is_resting = false;  ///< it is not checked until it can be finished, unless a record comes
  std::int64_t last_activity_ns = 0;
  Operation operation;
  std::int64_t earliest_ns = kUnknownTime;  ///< its kernel cannot have started before this time
  bool moves_data = false;                  ///< the network was seen to move data of it
  bool gives_data = false;                  ///< the GPU was seen to give data to the network
  /// The first time at which the GPU was seen to have given or taken data of the network.
  std::int64_t network_first_ns = kUnknownTime;
  std::int64_t proxy_first_ns = kUnknownTime, proxy_last_ns = kUnknownTime;
  struct Kernel {
    KernelRow row;
    Tally tally;
  };
  std::vector<Kernel> kernels;  ///< kernel channels that are written with the operation

  bool call_has_returned() const { return operation.enqueue_end_ns != kUnknownTime; }
  /// Its data were seen at this time to have come so far; `state` is not kNone.
  void take_data(DataState state, std::int64_t ts_ns) {
    moves_data = true;
    gives_data = gives_data || state == DataState::kGiven;
    // Data that came may lie in a buffer before the GPU is there.
    if (state != DataState::kReceived) {
      lower(network_first_ns, ts_ns);
    }
  }
  void end_proxy_op(std::int64_t start_ns, std::int64_t end_ns) {
    lower(proxy_first_ns, start_ns);
    proxy_last_ns = proxy_last_ns < end_ns ? end_ns : proxy_last_ns;
  }

 private:
  static void lower(std::int64_t& first_ns, std::int64_t ts_ns) {
    first_ns = first_ns == kUnknownTime || ts_ns < first_ns ? ts_ns : first_ns;
  }
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_OPEN_OPERATION_H
