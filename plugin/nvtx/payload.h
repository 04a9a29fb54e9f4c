// SPDX-License-Identifier: Apache-2.0
//
// What a range tells of its event: a block of plain fields, texts within it, so that a tool copies
// it as it is and follows no pointer. docs/markers.md is the reference for users.
#ifndef RINGSIDE_PLUGIN_NVTX_PAYLOAD_H
#define RINGSIDE_PLUGIN_NVTX_PAYLOAD_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"

namespace ringside::nvtx {

/// Numbers that are not known, or that an event of this type does not have, are -1 (0 for `comm`,
/// `context`); texts are then empty. Texts end with a zero byte, and are cut where they are longer.
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

/// What the tool is told of a field, once.
struct PayloadField {
  enum class Kind : std::uint8_t { kInt32, kInt64, kUint32, kUint64, kText };
  const char* name;
  Kind kind;
  std::size_t offset;
  std::size_t bytes;
};
extern const std::array<PayloadField, 20> kPayloadFields;

/// A payload of which all is unknown but where it comes from. Longer texts are cut.
RangePayload make_payload(std::string_view gpu_serial, std::string_view vm_id) noexcept;

/// Adds what is known of a communicator: at init, for all ranges of it. The GPU's UUID becomes the
/// gpu_serial where that is empty.
void add_communicator(const assemble::Communicator& communicator, RangePayload& payload) noexcept;

/// Adds what a start tells, to the payload of its communicator. NCCL's threads call this: it
/// neither allocates nor locks nor calls the system.
void add_event(record::EventId id, const record::EventStart& event, RangePayload& payload) noexcept;

/// False only where it is certain that an event's bytes stay within a node: its communicator has
/// one node, or it is a rank's message to itself. -1: not known. Interfaces 1 to 3 tell of no
/// nodes, and none tells where a peer is.
constexpr bool may_cross_nodes(std::int32_t nnodes, std::int32_t rank, std::int32_t peer) {
  const bool is_one_node = nnodes >= 0 && nnodes <= 1;
  const bool is_to_itself = peer >= 0 && peer == rank;
  return !is_one_node && !is_to_itself;
}

}  // namespace ringside::nvtx

#endif  // RINGSIDE_PLUGIN_NVTX_PAYLOAD_H
