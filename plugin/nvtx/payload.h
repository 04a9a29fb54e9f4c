// SPDX-License-Identifier: Apache-2.0
//
// The data that a range carries: a block of plain fields that holds its texts, so that a tool can
// copy it and follows no pointer. docs/markers.md is the reference for users.
#ifndef RINGSIDE_PLUGIN_NVTX_PAYLOAD_H
#define RINGSIDE_PLUGIN_NVTX_PAYLOAD_H

#include <array>
#include <cstdint>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"

namespace ringside::nvtx {

/// A number that is not known, or that an event of this type does not have, is -1; `comm` and
/// `context` are then 0, and a text is empty. A text ends with a zero byte. A longer text is cut.
struct RangePayload {
  std::uint64_t id;            ///< of the event: `id` of its slice in the trace
  std::uint64_t comm;          ///< hash of the communicator
  std::int64_t message_bytes;  ///< of this rank, as `bytes` in the trace
  std::int64_t count;
  std::int64_t seq;
  std::int32_t rank;
  std::int32_t nranks;
  std::int32_t nnodes;
  std::int32_t peer;
  std::int32_t root;
  std::int32_t device;
  std::uint32_t context;  ///< number of the communicator in this process, as in the trace
  std::array<char, 12> type;
  std::array<char, 24> func;
  std::array<char, 16> datatype;
  std::array<char, 16> algo;
  std::array<char, 16> proto;
  std::array<char, 64> comm_name;
  std::array<char, 48> gpu_serial;
  std::array<char, 64> vm_id;
};

/// A payload in which only the GPU and the host are known. Longer texts are cut.
RangePayload make_payload(std::string_view gpu_serial, std::string_view vm_id) noexcept;

/// Adds the communicator's members, which init reports. All its ranges begin with this payload. If
/// gpu_serial is empty, the GPU's UUID takes its place.
void add_communicator(const assemble::Communicator& communicator, RangePayload& payload) noexcept;

/// Adds a start's members to the payload of its communicator. NCCL's threads call this, so it makes
/// no allocation, takes no lock and makes no system call.
void add_event(record::EventId id, const record::EventStart& event, RangePayload& payload) noexcept;

/// False only where it is certain that an event's bytes stay within a node: its communicator has
/// one node, or a rank sends to itself. -1 stands for a number that is not known. Versions 1 to 3
/// of the interface do not report the number of nodes, and no version reports a peer's node.
constexpr bool may_cross_nodes(std::int32_t nnodes, std::int32_t rank, std::int32_t peer) {
  const bool is_one_node = nnodes >= 0 && nnodes <= 1;
  const bool is_to_itself = peer >= 0 && peer == rank;
  return !is_one_node && !is_to_itself;
}

}  // namespace ringside::nvtx

#endif  // RINGSIDE_PLUGIN_NVTX_PAYLOAD_H
