// SPDX-License-Identifier: Apache-2.0
//
// The structures through which NCCL's host code hands work to its kernels, as laid out in NCCL
// 2.29.7 and, but for what Differences says, 2.31.2 and 2.32.3. The names are this project's;
// layout-2.29.7.tsv maps them to NCCL's, and layout_check.cc asserts every offset. Nothing here is
// part of NCCL's public interface: see README.md for how to follow a newer release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace emugpu::nccl {

// Where later releases differ. Set before the first kernel.
struct Differences {
  bool wide_fifo = false;           // fifo.h; from 2.31 on
  bool padded_collectives = false;  // work_batches.cc; 2.31 only
};
inline Differences differences;

inline constexpr int kStepsPerBuffer = 8;
inline constexpr int kMaxChannels = 64;
inline constexpr int kMaxTreeChildren = 3;
inline constexpr int kConnectionsPerPeer = 2;
inline constexpr int kProfilerEntries = 64;

enum Protocol : int { kLowLatency = 0, kLowLatency128 = 1, kSimple = 2 };
inline constexpr int kProtocolCount = 3;

// One unit of the low-latency protocol: eight bytes of data, each half with its own flag, so that a
// reader needs no other signal to know that the data has arrived.
struct alignas(16) LowLatencyLine {
  std::uint32_t data_low;
  std::uint32_t flag_low;
  std::uint32_t data_high;
  std::uint32_t flag_high;
};

struct ConnectionInfo {
  char* buffers[kProtocolCount];
  void* memory_handles[kProtocolCount];
  std::uint64_t* tail;  // steps filled by the sender
  std::uint64_t* head;  // steps consumed by the receiver
  int flags;
  int shared;
  int step_size;
  void** pointer_exchange;
  std::uint64_t* scalar_exchange;
  void* fifo;          // fifo.h
  std::uint64_t step;  // where this side stands; survives from one kernel to the next
  std::uint64_t last_cleaning;
  std::byte network_device_handle[32];
};

struct ChannelPeer {
  ConnectionInfo send[kConnectionsPerPeer];
  ConnectionInfo receive[kConnectionsPerPeer];
};

struct Ring {
  int previous;
  int next;
  int* user_ranks;  // from this rank on, in ring order
  int* rank_to_index;
  int index;
};

struct Tree {
  int depth;
  int up;  // -1 at the root
  int down[kMaxTreeChildren];
};

struct CollnetDirect {
  int unused[27];
};

struct Nvls {
  int unused[40];
};

struct alignas(16) Channel {
  ChannelPeer** peers;  // by rank
  Ring ring;
  Tree tree;
  Tree collnet_chain;
  CollnetDirect collnet_direct;
  Nvls nvls;
  std::uint32_t* work_fifo_done;
  std::uint64_t work_counter;  // work items seen so far, for the profiler's counters
};

struct ProfilerEntry {
  std::uint64_t counter;
  std::uint64_t timestamp;
};

struct ProfilerCounters {
  ProfilerEntry entries[kProfilerEntries];
};

struct KernelCommunicator {
  int rank;
  int rank_count;
  int node;
  int node_count;
  int buffer_sizes[kProtocolCount];
  int point_to_point_chunk_size;
  int all_nvlink;  // not used here; at another place from 2.30 on
  int* collnet_dense_to_user_rank;
  volatile std::uint32_t* abort_flag;
  Channel* channels;
  int* rank_to_local_rank;
  ProfilerCounters* work_started;    // by channel
  ProfilerCounters* work_completed;  // by channel
};

struct alignas(16) KernelCommunicatorAndChannels {
  KernelCommunicator communicator;
  Channel channels[kMaxChannels];
};

enum class WorkType : unsigned {
  kPointToPoint = 0,
  kCollective = 1,
  kRegisteredCollective = 2,
  kBroadcast = 3,
};

struct alignas(16) PointToPointWork {
  struct Flags {
    std::uint8_t send_low_latency : 1, receive_low_latency : 1;
    std::uint8_t send_network_registered : 1, receive_network_registered : 1;
    std::uint8_t send_ipc_registered : 1, receive_ipc_registered : 1;
    std::uint8_t profiler_enabled : 1, unused : 1;
  };

  void* send_address;
  void* receive_address;
  std::size_t send_bytes;
  std::size_t receive_bytes;
  int send_rank;
  int receive_rank;
  std::uint8_t channel_count;  // of the communicator, a power of two
  std::uint8_t channel_base;
  std::uint8_t send_channel_count;  // none: nothing to send
  std::uint8_t receive_channel_count;
  std::uint8_t send_chunk_code;  // see decode_chunk_size
  std::uint8_t receive_chunk_code;
  Flags flags;
};

struct alignas(16) CollectiveWork {
  struct Flags {
    std::uint32_t first_channel : 8, last_channel : 8;
    std::uint32_t warp_count : 8;
    std::uint32_t scalar_is_pointer : 1, registered : 1, network_registered : 1, one_node : 1;
    std::uint32_t direct : 2, one_rank_per_node : 1;
    std::uint32_t profiler_enabled : 1;
  };
  struct ChunkGrains {
    std::uint64_t first : 21, middle : 21, last : 21, unused : 1;
  };

  Flags flags;
  std::uint32_t root;
  void* receive_buffer;
  void* send_buffer;
  std::uintptr_t send_buffer_offset;
  std::uintptr_t receive_buffer_offset;
  std::uintptr_t* send_remote_addresses;
  std::uintptr_t* receive_remote_addresses;
  std::size_t first_count;   // elements that the first channel handles,
  std::size_t middle_count;  // each channel between,
  std::size_t last_count;    // and the last one
  ChunkGrains chunk_grains;
  std::uint64_t scalar;  // the reduction's argument
};

struct alignas(16) RegisteredCollectiveWork {
  CollectiveWork collective;
  void* down_inputs[8];
  void* down_outputs[8];
  void* up_outputs[8];
};

// One broadcast of a batch that shares a kernel.
struct alignas(16) BroadcastWork {
  int ring_depth;  // distance from the root
  int chunk_size;
  void* send_buffer;
  void* receive_buffer;
  std::size_t bytes_left;
  std::size_t bytes_done;
};

struct alignas(16) WorkBatch {
  struct Flags {
    std::uint32_t next_jump : 14;    // distance to the channel's next batch; none when 0
    std::uint32_t next_extends : 1;  // the next batch's work belongs to this one
    std::uint32_t work_type : 2;
    std::uint32_t function_id : 11;
    std::uint32_t unused : 4;  // 2.32 has the kind of collective here, for counters of progress
  };

  Flags flags;
  std::uint32_t offset_base;
  std::uint64_t offset_bits;  // bit i: a work item at offset_base + i times its size
};

enum class WorkStorage : std::uint8_t { kArguments = 0, kFifo = 1, kPersistent = 2 };

// Followed in memory by the batches; a channel's first batch is at the index of its block.
struct alignas(16) KernelArguments {
  KernelCommunicator* communicator;
  std::uint64_t channel_mask;
  WorkStorage work_storage;
  std::uint32_t work_mask;
  void* work_buffer;
};

// The kernel's view of a communicator is always embedded in the larger structure.
inline Channel& channel_of(KernelCommunicator& communicator, int channel) {
  return reinterpret_cast<KernelCommunicatorAndChannels&>(communicator).channels[channel];
}

}  // namespace emugpu::nccl
