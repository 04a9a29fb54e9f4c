// SPDX-License-Identifier: Apache-2.0
//
// From the internal form of a startEvent to the bytes of its slots. Hot path: inline, no branches
// but the type's.
#ifndef RINGSIDE_PLUGIN_RECORD_ENCODE_H
#define RINGSIDE_PLUGIN_RECORD_ENCODE_H

#include <cstdint>
#include <cstring>

#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"
#include "plugin/record/ring.h"

namespace ringside::record {

struct EncodedNames {
  std::uint8_t func, datatype, algo, proto, variant;
};

constexpr bool is_coll_like(EventType type) {
  return type == EventType::kColl || type == EventType::kP2p || type == EventType::kCeColl;
}
constexpr bool is_call(EventType type) {
  return type == EventType::kCollApi || type == EventType::kP2pApi;
}
constexpr bool is_api(EventType type) {
  return is_call(type) || type == EventType::kGroupApi || type == EventType::kKernelLaunch;
}

[[gnu::always_inline]] inline EncodedNames encode_names(Ring& ring,
                                                        const EventStart& event) noexcept {
  if (is_coll_like(event.type)) {
    const CollStart& coll = event.coll;
    return {name_code(ring, coll.func), name_code(ring, coll.datatype), name_code(ring, coll.algo),
            name_code(ring, coll.proto), name_code(ring, coll.variant)};
  }
  if (is_call(event.type)) {
    return {name_code(ring, event.api.func), name_code(ring, event.api.datatype), 0, 0, 0};
  }
  return {};
}

inline bool needs_extra(const EventStart& event) noexcept {
  return is_coll_like(event.type) || event.type == EventType::kNetPlugin ||
         (is_api(event.type) && event.api.user_tag != 0);
}

/// True for an API call that a CUDA graph captures: its replays begin anew later.
inline bool captures(const EventStart& event) noexcept {
  return is_api(event.type) && event.api.captured;
}

inline const void* event_parent_group(const EventStart& event) noexcept {
  return is_coll_like(event.type) ? event.coll.parent_group : nullptr;
}

// NCCL's network descriptors, version 1 (the low 16 bits of the id), read byte by byte because they
// are another library's: IB (id bit 16): device at 8, wr_id 16, opcode 24, QP 28, length 32; socket
// (bit 17): descriptor at 8, operation 12, length 16.
inline constexpr std::int64_t kNetIbV1 = 0x10001;
inline constexpr std::int64_t kNetSocketV1 = 0x20001;

template <typename T>
T read_at(const void* data, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + offset, sizeof value);
  return value;
}

inline void encode_net(const NetStart& net, std::uint64_t parent, NetPayload& out) noexcept {
  out = {parent, net.id, 0, 0, 0};
  if (net.data == nullptr) {
    return;
  }
  if (net.id == kNetIbV1) {
    out.device_or_fd = read_at<std::int32_t>(net.data, 8);
    out.opcode = read_at<std::int32_t>(net.data, 24);
    out.length_bytes = read_at<std::uint64_t>(net.data, 32);
  } else if (net.id == kNetSocketV1) {
    out.device_or_fd = read_at<std::int32_t>(net.data, 8);
    out.opcode = read_at<std::int32_t>(net.data, 12);
    out.length_bytes = read_at<std::uint64_t>(net.data, 16);
  }
}

[[gnu::always_inline]] inline void encode_payload(const EventStart& event, std::uint64_t parent,
                                                  const EncodedNames& names,
                                                  Payload& out) noexcept {
  switch (event.type) {
    case EventType::kColl:
    case EventType::kP2p:
    case EventType::kCeColl:
      out.coll = {parent,     event.coll.seq, event.coll.count, event.coll.root_or_peer,
                  names.func, names.datatype, names.algo,       names.proto};
      return;
    case EventType::kGroupApi:
    case EventType::kCollApi:
    case EventType::kP2pApi:
    case EventType::kKernelLaunch:
      out.api = {parent,
                 event.api.stream,
                 event.api.count,
                 event.api.root_or_depth,
                 names.func,
                 names.datatype,
                 {}};
      return;
    case EventType::kProxyOp: {
      const ProxyOpStart& op = event.proxy_op;
      out.proxy_op = {parent,     op.pid,     op.peer,    op.steps, op.chunk_bytes,
                      event.rank, op.channel, op.is_send, {}};
      return;
    }
    case EventType::kProxyStep:
      out.step = {parent, event.step.step, event.rank, {}};
      return;
    case EventType::kKernelCh:
    case EventType::kKernelPhase:
      out.kernel = {parent, event.kernel.gpu_time, event.kernel.channel, event.kernel.phase, {}};
      return;
    case EventType::kNetPlugin:
      encode_net(event.net, parent, out.net);
      return;
    case EventType::kCeSync:
    case EventType::kCeBatch:
      out.copy_engine = {
          parent, event.copy_engine.bytes, event.copy_engine.number, event.copy_engine.flag, {}};
      return;
    default:  // Group, ProxyCtrl: nothing but a parent
      out.step = {parent, 0, event.rank, {}};
      return;
  }
}

/// parent_group is the decoded handle of a Coll's Group, if any.
[[gnu::always_inline]] inline void encode_extra(const EventStart& event, const EncodedNames& names,
                                                std::uint64_t parent_group, Extra& out) noexcept {
  out = {};
  out.rank_or_qp = event.rank;
  if (is_coll_like(event.type)) {
    const CollStart& coll = event.coll;
    out.user_tag = coll.user_tag;
    out.comm_hash = coll.comm_hash;
    out.parent_group = is_event_id(parent_group) ? parent_group : 0;
    out.stream_or_wr = coll.stream;
    out.channels = coll.channels;
    out.warps = coll.warps;
    out.variant = names.variant;
    out.flags = static_cast<std::uint8_t>((coll.symmetric ? kExtraSymmetric : 0) |
                                          (coll.variant_is_comm_name ? kExtraCommName : 0));
  } else if (is_api(event.type)) {
    out.user_tag = event.api.user_tag;
  } else if (event.type == EventType::kNetPlugin && event.net.data != nullptr &&
             event.net.id == kNetIbV1) {
    out.stream_or_wr = read_at<std::uint64_t>(event.net.data, 16);
    out.rank_or_qp = read_at<std::int32_t>(event.net.data, 28);
  }
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_ENCODE_H
