// SPDX-License-Identifier: Apache-2.0
//
// The one internal form of a startEvent, whatever the version of NCCL's interface. An adapter
// builds it on the stack; only the member of the union that belongs to the type is ever set or
// read.
#ifndef RINGSIDE_PLUGIN_RECORD_EVENT_START_H
#define RINGSIDE_PLUGIN_RECORD_EVENT_START_H

#include <cstdint>

#include "plugin/record/event_type.h"

namespace ringside::record {

struct CollStart {  // Coll, P2p, CeColl
  std::uint64_t seq;
  std::uint64_t count;  // as NCCL reports it; assemble/message_bytes.h has its meaning by function
  std::uint64_t comm_hash;
  std::uint64_t user_tag;
  std::uint64_t stream;
  const void* parent_group;
  const char* func;
  const char* datatype;
  const char* algo;
  const char* proto;
  const char* variant;  // the kernel's variant (v7), or the communicator's name (v1 to v3)
  std::int32_t root_or_peer;
  std::uint8_t channels;
  std::uint8_t warps;
  bool symmetric;
  bool variant_is_comm_name;
};
struct ApiStart {  // GroupApi, CollApi, P2pApi, KernelLaunch
  std::uint64_t count;
  std::uint64_t stream;
  std::uint64_t user_tag;
  const char* func;
  const char* datatype;
  std::int32_t root_or_depth;
  bool captured;
};
struct ProxyOpStart {
  std::int32_t pid, peer, steps, chunk_bytes;
  std::uint8_t channel;
  bool is_send;
};
struct StepStart {
  std::int32_t step;
};
struct KernelStart {  // KernelCh, KernelPhase
  std::uint64_t gpu_time;
  std::uint8_t channel, phase;
};
struct NetStart {
  std::int64_t id;
  const void* data;  // NCCL's struct; valid only during the call
};
struct CopyEngineStart {  // CeSync, CeBatch
  std::uint64_t bytes;
  std::int32_t number;
  bool flag;
};

struct EventStart {
  EventType type;
  std::int32_t rank;
  const void* context;  // what init returned, or with PXN another process's value
  const void* parent;
  union {
    CollStart coll;
    ApiStart api;
    ProxyOpStart proxy_op;
    StepStart step;
    KernelStart kernel;
    NetStart net;
    CopyEngineStart copy_engine;
  };
};

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_EVENT_START_H
