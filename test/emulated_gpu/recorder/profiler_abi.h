// SPDX-License-Identifier: Apache-2.0
//
// NCCL's profiler plugin interface, versions 2, 6 and 7, as far as the recorder reads it. Offsets
// are asserted below: this is an ABI, not a convenience.
#pragma once

#include <cstddef>
#include <cstdint>

namespace profiler_abi {

// ncclResult_t and ncclProfilerEventState_t, as plain integers.
using Result = int;
using State = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kSystemError = 2;

using DebugLogger = void (*)(int level, unsigned long flags, const char* file, int line,
                             const char* format, ...);

enum EventType : std::uint64_t {
  kGroup = 1 << 0,
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOperation = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,
  kNetworkPlugin = 1 << 7,
  kGroupApi = 1 << 8,
  kCollectiveApi = 1 << 9,
  kPointToPointApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCopyEngineCollective = 1 << 12,
  kCopyEngineSynchronization = 1 << 13,
  kCopyEngineBatch = 1 << 14,
  kKernelPhase = 1 << 15,
};

struct ProxyOperation {
  int pid;
  std::uint8_t channel;
  int peer;
  int step_count;
  int chunk_size;
  int is_send;
};

struct ProxyStep {
  int step;
};

namespace v2 {

struct Event {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    struct {
      const char* name;
      std::uint64_t communicator_hash, sequence_number;
      const char* function;
      const void* send_buffer;
      void* receive_buffer;
      std::size_t count;
      int root;
      const char* datatype;
      std::size_t traffic_bytes;
      std::uint8_t max_channels, warps;
      const char* algorithm;
      const char* protocol;
    } collective;
    struct {
      const char* name;
      std::uint64_t communicator_hash;
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
    } point_to_point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
  };
};
static_assert(sizeof(Event) == 128 && offsetof(Event, collective.count) == 72 &&
              offsetof(Event, collective.datatype) == 88 &&
              offsetof(Event, collective.protocol) == 120 &&
              offsetof(Event, point_to_point.peer) == 72 &&
              offsetof(Event, proxy_operation.is_send) == 44);

struct Profiler {
  const char* name;
  Result (*init)(void** context, int* activation_mask);
  Result (*start_event)(void* context, void** handle, Event* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, State state, void* arguments);
  Result (*finalize)(void* context);
};

}  // namespace v2

namespace v6 {

struct Event {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool graph_captured;
      int depth;
    } group_api;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graph_captured;
    } collective_api;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool graph_captured;
    } point_to_point_api;
    struct {
      void* stream;
    } kernel_launch;
    struct {
      std::uint64_t sequence_number;
      const char* function;
      const void* send_buffer;
      void* receive_buffer;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels, warps;
      const char* algorithm;
      const char* protocol;
      void* parent_group;
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void* parent_group;
    } point_to_point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    struct {
      std::uint8_t channel;
      std::uint64_t start_timer;
    } kernel_channel;
  };
};
static_assert(sizeof(Event) == 112 && offsetof(Event, collective.count) == 56 &&
              offsetof(Event, collective.parent_group) == 104 &&
              offsetof(Event, point_to_point.parent_group) == 64 &&
              offsetof(Event, collective_api.stream) == 56 &&
              offsetof(Event, kernel_channel.start_timer) == 32);

inline constexpr State kKernelChannelStop = 22;  // carries the device's stop time

struct Profiler {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, int* activation_mask,
                 const char* communicator_name, int node_count, int rank_count, int rank,
                 DebugLogger logger);
  Result (*start_event)(void* context, void** handle, Event* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, State state, void* arguments);
  Result (*finalize)(void* context);
};

}  // namespace v6

namespace v7 {

struct Event {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool graph_captured;
      int depth;
    } group_api;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graph_captured;
      std::uint64_t user_tag;
    } collective_api;
    struct {
      const char* function;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool graph_captured;
      std::uint64_t user_tag;
    } point_to_point_api;
    struct {
      void* stream;
    } kernel_launch;
    struct {
      std::uint64_t sequence_number;
      const char* function;
      const void* send_buffer;
      void* receive_buffer;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t channels, warps;
      const char* algorithm;
      const char* protocol;
      void* parent_group;
      const char* kernel_variant;
      bool symmetric;
      std::uint64_t user_tag;
    } collective;
    struct {
      const char* function;
      void* buffer;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void* parent_group;
      std::uint64_t user_tag;
    } point_to_point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    struct {
      std::uint8_t channel;
      std::uint64_t start_timer;
    } kernel_channel;
    struct {
      std::uint8_t channel, phase;
      const char* name;
      std::uint64_t start_timer;
    } kernel_phase;
  };
};
static_assert(sizeof(Event) == 136 && offsetof(Event, collective_api.user_tag) == 72 &&
              offsetof(Event, point_to_point_api.user_tag) == 64 &&
              offsetof(Event, collective.parent_group) == 104 &&
              offsetof(Event, collective.kernel_variant) == 112 &&
              offsetof(Event, collective.user_tag) == 128 &&
              offsetof(Event, point_to_point.user_tag) == 72 &&
              offsetof(Event, kernel_phase.start_timer) == 40);

union StateArguments {
  std::size_t bytes;      // of a proxy's step
  int appended;           // of proxy control
  std::uint64_t stopped;  // the device's stop time, of a kernel's channel or phase
};

struct Profiler {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, int* activation_mask,
                 const char* communicator_name, int node_count, int rank_count, int rank,
                 DebugLogger logger);
  Result (*start_event)(void* context, void** handle, Event* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, State state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

}  // namespace v7
}  // namespace profiler_abi
