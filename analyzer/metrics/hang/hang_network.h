// SPDX-License-Identifier: Apache-2.0
//
// Finds what the network side of stuck operations waits for, from the proxy operations and steps
// that are in flight.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_HANG_NETWORK_H
#define RINGSIDE_ANALYZER_METRICS_HANG_HANG_NETWORK_H

#include <cstdint>
#include <vector>

#include "analyzer/metrics/hang/hang.h"

namespace ringside::metrics {

enum class WaitsFor : std::uint8_t {
  kNotTold,  // only the proxy operation is recorded, or the interface gives no states
  kGpu,      // the GPU has to fill or to take the buffer
  kCredit,   // the receiver has no room yet
  kNetwork,  // sent, and not acknowledged by the network
  kData,     // a receive: nothing has come from the sender
  kFlush,    // the data is on its way to the GPU's memory
};

/// Steps in flight of one stuck operation that wait for the same; proxy operations, where none of
/// their steps is in flight.
struct OpenTransfers {
  std::uint32_t position = 0;   // index into Hang::positions
  std::uint32_t operation = 0;  // index into TraceFile::operations
  bool is_send = false;
  std::uint32_t peer = 0;
  std::uint16_t channel = 0;
  WaitsFor waits_for = WaitsFor::kNotTold;
  std::uint64_t transfers = 0;
  std::int64_t longest_ns = 0;  // since the oldest began, to the end of the trace
};

/// The open transfers of the ranks that wait in Hang::operations. They are sorted by position,
/// operation, direction, peer and channel.
std::vector<OpenTransfers> find_open_transfers(const model::Traces& traces, const Hang& hang);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_HANG_NETWORK_H
