// SPDX-License-Identifier: Apache-2.0
//
// Turns the internal form of a startEvent into the bytes of its slots. Hot path: all inline, with
// branches on the event's type only.
#ifndef RINGSIDE_PLUGIN_RECORD_ENCODE_H
#define RINGSIDE_PLUGIN_RECORD_ENCODE_H

#include <cstdint>
#include <cstring>

#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"
#include "plugin/record/ring.h"

namespace ringside::record {

struct EncodedNames {
  std::uint16_t func_datatype, algo_proto;
  std::uint8_t variant;
};

constexpr std::uint8_t low_byte(std::uint16_t codes) {
  return static_cast<std::uint8_t>(codes);
}
constexpr std::uint8_t high_byte(std::uint16_t codes) {
  return static_cast<std::uint8_t>(codes >> 8);
}

constexpr bool is_coll_like(EventType type) {
  return type == EventType::kColl || type == EventType::kP2p || type == EventType::kCeColl;
}
constexpr bool is_call(EventType type) {
  return type == EventType::kCollApi || type == EventType::kP2pApi;
}
constexpr bool is_api(EventType type) {
  return is_call(type) || type == EventType::kGroupApi || type == EventType::kKernelLaunch;
}

template <typename Codes>
[[gnu::always_inline]] inline bool take_codes(int codes, Codes& to) noexcept {
  to = static_cast<Codes>(codes);
  return codes >= 0;
}

/// Finds the codes of an event's names. `Names` is CachedNames or ResolvedNames. Returns false if a
/// name has no code (-1). The functions must not be lambdas: these are inlined only after the
/// compiler has put the event into memory.
template <typename Names>
[[gnu::always_inline]] inline bool encode_names(Ring& ring, const EventStart& event,
                                                EncodedNames& names) noexcept {
  names = {};
  if (is_coll_like(event.type)) {
    const CollStart& coll = event.coll;
    // All collectives have an algorithm and a protocol; the other types have neither.
    const bool has_algo =
        event.type == EventType::kColl || coll.algo != nullptr || coll.proto != nullptr;
    return take_codes(Names::codes(ring, coll.func, coll.datatype), names.func_datatype) &&
           (!has_algo || take_codes(Names::codes(ring, coll.algo, coll.proto), names.algo_proto)) &&
           (coll.variant == nullptr || take_codes(Names::code(ring, coll.variant), names.variant));
  }
  return !is_call(event.type) ||
         take_codes(Names::codes(ring, event.api.func, event.api.datatype), names.func_datatype);
}

// Offsets in NCCL's network descriptors, version 1 (the low 16 bits of the id). IB (id bit 16):
// device 8, wr_id 16, opcode 24, QP 28, length 32. Sockets (bit 17): descriptor 8, operation 12,
// length 16.
inline constexpr std::int64_t kNetIbV1 = 0x10001;
inline constexpr std::int64_t kNetSocketV1 = 0x20001;

template <typename T>
T read_at(const void* data, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + offset, sizeof value);
  return value;
}

inline bool is_ib(const NetStart& net) noexcept {
  return net.id == kNetIbV1 && net.data != nullptr;
}
inline std::uint64_t ib_length_bytes(const NetStart& net) noexcept {
  return read_at<std::uint64_t>(net.data, 32);
}
/// True if the length fits into 32 bits, as in any message of InfiniBand, so that one slot holds
/// the event.
inline bool is_short_ib(const NetStart& net) noexcept {
  return is_ib(net) && ib_length_bytes(net) >> 32 == 0;
}

/// True if the event has values for a second slot, apart from foreign handles.
inline bool needs_extra(const EventStart& event) noexcept {
  return is_coll_like(event.type) || (is_api(event.type) && event.api.user_tag != 0) ||
         (event.type == EventType::kNetPlugin && is_ib(event.net) && !is_short_ib(event.net));
}

/// True for an API call that a CUDA graph captures. Its replays count as new events.
inline bool captures(const EventStart& event) noexcept {
  return is_api(event.type) && event.api.captured;
}

inline const void* event_parent_group(const EventStart& event) noexcept {
  return is_coll_like(event.type) ? event.coll.parent_group : nullptr;
}

/// Returns the flags that say which member of the payload is used.
[[gnu::always_inline]] inline std::uint8_t payload_flags(const EventStart& event) noexcept {
  if (event.type == EventType::kNetPlugin && is_short_ib(event.net)) [[likely]] {
    return kFlagNetIb;
  }
  return 0;
}

[[gnu::always_inline]] inline void encode_net(const NetStart& net, std::uint64_t parent,
                                              std::uint8_t flags, Payload& out) noexcept {
  if ((flags & kFlagNetIb) != 0) [[likely]] {
    out.net_ib.parent = parent;
    out.net_ib.work_request = read_at<std::uint64_t>(net.data, 16);
    out.net_ib.length_bytes = static_cast<std::uint32_t>(ib_length_bytes(net));
    out.net_ib.device = read_at<std::int32_t>(net.data, 8);
    out.net_ib.opcode = read_at<std::int32_t>(net.data, 24);
    out.net_ib.queue_pair = read_at<std::int32_t>(net.data, 28);
    return;
  }
  out.net = {parent, net.id, 0, 0, 0};
  if (is_ib(net)) {
    out.net.length_bytes = ib_length_bytes(net);
    out.net.device_or_fd = read_at<std::int32_t>(net.data, 8);
    out.net.opcode = read_at<std::int32_t>(net.data, 24);
  } else if (net.id == kNetSocketV1 && net.data != nullptr) {
    out.net.length_bytes = read_at<std::uint64_t>(net.data, 16);
    out.net.device_or_fd = read_at<std::int32_t>(net.data, 8);
    out.net.opcode = read_at<std::int32_t>(net.data, 12);
  }
}

/// Writes the members one by one. Unused bytes keep their old values.
[[gnu::always_inline]] inline void encode_payload(const EventStart& event, std::uint64_t parent,
                                                  std::uint8_t flags, const EncodedNames& names,
                                                  Payload& out) noexcept {
  switch (event.type) {
    case EventType::kColl:
    case EventType::kP2p:
    case EventType::kCeColl:
      out.coll = {parent,
                  event.coll.seq,
                  event.coll.count,
                  event.coll.root_or_peer,
                  low_byte(names.func_datatype),
                  high_byte(names.func_datatype),
                  low_byte(names.algo_proto),
                  high_byte(names.algo_proto)};
      return;
    case EventType::kGroupApi:
    case EventType::kCollApi:
    case EventType::kP2pApi:
    case EventType::kKernelLaunch:
      out.api.parent = parent;
      out.api.stream = event.api.stream;
      out.api.count = event.api.count;
      out.api.root_or_depth = event.api.root_or_depth;
      out.api.func = low_byte(names.func_datatype);
      out.api.datatype = high_byte(names.func_datatype);
      return;
    case EventType::kProxyOp:
      out.proxy_op.parent = parent;
      out.proxy_op.pid = event.proxy_op.pid;
      out.proxy_op.peer = event.proxy_op.peer;
      out.proxy_op.steps = event.proxy_op.steps;
      out.proxy_op.chunk_bytes = event.proxy_op.chunk_bytes;
      out.proxy_op.rank = event.rank;
      out.proxy_op.channel = event.proxy_op.channel;
      out.proxy_op.is_send = event.proxy_op.is_send;
      return;
    case EventType::kProxyStep:
      out.step.parent = parent;
      out.step.step = event.step.step;
      out.step.rank = event.rank;
      return;
    case EventType::kKernelCh:
    case EventType::kKernelPhase:
      out.kernel.parent = parent;
      out.kernel.gpu_time = event.kernel.gpu_time;
      out.kernel.channel = event.kernel.channel;
      out.kernel.phase = event.kernel.phase;
      return;
    case EventType::kNetPlugin:
      encode_net(event.net, parent, flags, out);
      return;
    case EventType::kCeSync:
    case EventType::kCeBatch:
      out.copy_engine.parent = parent;
      out.copy_engine.bytes = event.copy_engine.bytes;
      out.copy_engine.number = event.copy_engine.number;
      out.copy_engine.flag = event.copy_engine.flag;
      return;
    default:  // Group, ProxyCtrl: nothing but a parent
      out.step.parent = parent;
      out.step.step = 0;
      out.step.rank = event.rank;
      return;
  }
}

/// parent_group is the decoded handle of a Coll's Group, if any.
[[gnu::always_inline]] inline void encode_extra(const EventStart& event, const EncodedNames& names,
                                                std::uint64_t parent_group, Extra& out) noexcept {
  if (is_coll_like(event.type)) {
    // The foreign fields are not written: they are read only with kFlagForeign.
    const CollStart& coll = event.coll;
    out.rank_or_qp = event.rank;
    out.user_tag = coll.user_tag;
    out.comm_hash = coll.comm_hash;
    out.parent_group = is_event_id(parent_group) ? parent_group : 0;
    out.stream_or_wr = coll.stream;
    out.channels = coll.channels;
    out.warps = coll.warps;
    out.variant = names.variant;
    out.flags = static_cast<std::uint8_t>((coll.symmetric ? kExtraSymmetric : 0) |
                                          (coll.variant_is_comm_name ? kExtraCommName : 0));
    return;
  }
  out = {};
  out.rank_or_qp = event.rank;
  if (is_api(event.type)) {
    out.user_tag = event.api.user_tag;
  } else if (event.type == EventType::kNetPlugin && needs_extra(event)) {
    out.stream_or_wr = read_at<std::uint64_t>(event.net.data, 16);
    out.rank_or_qp = read_at<std::int32_t>(event.net.data, 28);
  }
}

/// The facts of a start that do not come from the descriptor.
struct StartFacts {
  EventId id;
  std::uint64_t parent;        ///< id of the parent; 0: no parent of this process
  std::uint64_t parent_group;  ///< decoded handle of a Coll's Group, if any
  std::uint32_t context;
  std::uint8_t flags;  ///< includes payload_flags()
  EncodedNames names;
};

/// Writes a start's record, except for its time and its foreign handles. `slots` is 1 or 2.
[[gnu::always_inline]] inline void encode_start(const EventStart& event, const StartFacts& facts,
                                                const Ring::WriteCursor& cursor,
                                                std::uint64_t slots) noexcept {
  auto& first = cursor.first->first;
  first.id = facts.id;
  first.kind = RecordKind::kStart;
  first.type = event.type;
  first.slots = static_cast<std::uint8_t>(slots);
  first.context = facts.context;
  first.flags = facts.flags;
  encode_payload(event, facts.parent, facts.flags, facts.names, first.payload);
  if (slots == 2) {
    encode_extra(event, facts.names, facts.parent_group, cursor.second().extra);
  }
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_ENCODE_H
