// SPDX-License-Identifier: Apache-2.0
//
// A ring holds slots of 64 bytes. A record takes one slot, or two that follow each other; with the
// text of a mark or a range it takes more, at most kMostSlots.
//
//    byte 0        8        16       24   25   26    27    28      32                         64
//    +---------+--------+--------+----+----+-----+-----+-------+----------------------------+
//    | commit  | ticks  |   id   |kind|type|slots|flags|context|          payload           | first
//    slot
//    +---------+--------+--------+----+----+-----+-----+-------+----------------------------+
//    | commit  |                     extra: 56 bytes                                        |
//    second slot
//    +---------+----------------------------------------------------------------------------+
//
// `commit` holds the slot's position plus one, and is stored last. Positions count on through all
// laps of the ring. The commit words of further slots are stored before the first's, so a record is
// visible as a whole or not at all. A slot that is from an earlier lap, torn or unused has another
// value in its commit word.
//
// All integers are little-endian, and all sizes are explicit. No pointer in a slot may be followed:
// addresses are kept as numbers.
#ifndef RINGSIDE_PLUGIN_RECORD_SLOT_H
#define RINGSIDE_PLUGIN_RECORD_SLOT_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plugin/record/event_type.h"

namespace ringside::record {

enum class RecordKind : std::uint8_t { kStart = 1, kState = 2, kStop = 3, kName = 4 };

// Bits of SlotHeader::flags.
inline constexpr std::uint8_t kFlagForeign = 1;   ///< context or parent are not of this process
inline constexpr std::uint8_t kFlagCaptured = 2;  ///< captured in a CUDA graph
inline constexpr std::uint8_t kFlagArgsNull = 4;  ///< a state without arguments of its own
inline constexpr std::uint8_t kFlagNetIb = 8;     ///< the payload is net_ib, not net

struct CollPayload {  // Coll, P2p, CeColl
  std::uint64_t parent;
  std::uint64_t seq;
  std::uint64_t count;
  std::int32_t root_or_peer;
  std::uint8_t func, datatype, algo, proto;  // name codes
};
struct ApiPayload {  // CollApi, P2pApi, KernelLaunch, GroupApi
  std::uint64_t parent;
  std::uint64_t stream;
  std::uint64_t count;
  std::int32_t root_or_depth;
  std::uint8_t func, datatype, unused[2];
};
struct ProxyOpPayload {
  std::uint64_t parent;
  std::int32_t pid, peer, steps, chunk_bytes;
  std::int32_t rank;
  std::uint8_t channel, is_send, unused[2];
};
struct StepPayload {  // ProxyStep
  std::uint64_t parent;
  std::int32_t step, rank;
  std::uint64_t unused[2];
};
struct KernelPayload {  // KernelCh, KernelPhase
  std::uint64_t parent;
  std::uint64_t gpu_time;
  std::uint8_t channel, phase, unused[14];
};
struct NetPayload {  // NetPlugin
  std::uint64_t parent;
  std::int64_t id;
  std::uint64_t length_bytes;
  std::int32_t device_or_fd, opcode;
};
struct NetIbPayload {  // NetPlugin of the InfiniBand transport, of a length of 32 bits
  std::uint64_t parent;
  std::uint64_t work_request;
  std::uint32_t length_bytes;
  std::int32_t device, opcode, queue_pair;
};
struct CopyEnginePayload {  // CeSync, CeBatch
  std::uint64_t parent;
  std::uint64_t bytes;
  std::int32_t number;  // of ranks or of operations
  std::uint8_t flag, unused[11];
};
struct StatePayload {
  std::uint64_t value;  // transSize, pTimer or appendedProxyOps
  std::int32_t steps;
  std::uint16_t state;
  std::uint16_t unused;
  std::uint64_t unused2[2];
};
struct MarkPayload {                       // Mark, Range
  std::uint64_t parent;                    // none: 0
  std::uint16_t text_bytes, source_bytes;  // the slots behind have the text, and then the source
  std::uint8_t unused[20];
};
struct NamePayload {
  char text[32];  // ends with NUL unless it fills the field
};

union Payload {
  CollPayload coll;
  ApiPayload api;
  ProxyOpPayload proxy_op;
  StepPayload step;
  KernelPayload kernel;
  NetPayload net;
  NetIbPayload net_ib;
  CopyEnginePayload copy_engine;
  StatePayload state;
  MarkPayload mark;
  NamePayload name;
};
static_assert(sizeof(Payload) == 32);

// Bits of Extra::flags.
inline constexpr std::uint8_t kExtraSymmetric = 1;  ///< a symmetric kernel (v7)
inline constexpr std::uint8_t kExtraCommName =
    2;  ///< variant is the communicator's name (v1 to v3)

/// The second slot of a start, if it has one.
struct Extra {
  std::uint64_t foreign_context;  // the values that NCCL passed; valid with kFlagForeign
  std::uint64_t foreign_parent;
  std::uint64_t user_tag;
  std::uint64_t comm_hash;
  std::uint64_t parent_group;
  std::uint64_t stream_or_wr;  // the stream of a CeColl, or the id of a work request
  std::int32_t rank_or_qp;
  std::uint8_t channels, warps;
  std::uint8_t variant;  // name code of the kernel's variant, or of the communicator
  std::uint8_t flags;
};
static_assert(sizeof(Extra) == 56);

struct Slot {
  std::atomic<std::uint64_t> commit;
  union {
    struct {
      std::uint64_t ticks;
      std::uint64_t id;
      RecordKind kind;
      EventType type;
      std::uint8_t slots;
      std::uint8_t flags;
      std::uint32_t context;
      Payload payload;
    } first;
    Extra extra;
    char text[sizeof(Extra)];
  };
};
static_assert(sizeof(Slot) == 64);

/// The longest text, and the longest source, of a mark or a range.
inline constexpr std::size_t kMostText_bytes = 1000;
/// The slots of a mark or a range whose text and source have so many bytes together.
constexpr std::uint64_t slots_with_text(std::size_t text_bytes) {
  return 1 + (text_bytes + sizeof(Slot::text) - 1) / sizeof(Slot::text);
}
inline constexpr std::uint64_t kMostSlots = slots_with_text(2 * kMostText_bytes);
static_assert(offsetof(Slot, first.payload) == 32);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_SLOT_H
