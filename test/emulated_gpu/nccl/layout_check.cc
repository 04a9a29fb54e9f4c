// SPDX-License-Identifier: Apache-2.0
//
// Every offset and size in abi.h, checked at compile time against what NCCL 2.29.7's own headers
// give (layout-2.29.7.tsv). Compiled into the emulation; it produces no code.
#include <bit>
#include <cstddef>

#include "abi.h"
#include "fifo.h"

namespace emugpu::nccl {

#define LAYOUT_SIZE(structure, bytes) static_assert(sizeof(structure) == (bytes))

#define LAYOUT_FIELD(structure, field, byte_offset, bytes)    \
  static_assert(offsetof(structure, field) == (byte_offset)); \
  static_assert(sizeof(structure{}.field) == (bytes))

// A bit-field set to all ones must show up as exactly these bits of its group.
#define LAYOUT_BITS(group, integer, field, first_bit, bit_count) \
  static_assert(std::bit_cast<integer>([] {                      \
                  group value{};                                 \
                  value.field = (integer{1} << (bit_count)) - 1; \
                  return value;                                  \
                }()) == ((integer{1} << (bit_count)) - 1) << (first_bit))

LAYOUT_SIZE(LowLatencyLine, 16);
LAYOUT_FIELD(LowLatencyLine, data_low, 0, 4);
LAYOUT_FIELD(LowLatencyLine, flag_low, 4, 4);
LAYOUT_FIELD(LowLatencyLine, data_high, 8, 4);
LAYOUT_FIELD(LowLatencyLine, flag_high, 12, 4);

LAYOUT_SIZE(FifoSlot, 24);
LAYOUT_FIELD(FifoSlot, mode, 0, 4);
LAYOUT_FIELD(FifoSlot, offset, 4, 4);
LAYOUT_FIELD(FifoSlot, size, 8, 8);
LAYOUT_FIELD(FifoSlot, pointer, 16, 8);

LAYOUT_SIZE(WideFifoSlot, 32);
LAYOUT_FIELD(WideFifoSlot, mode, 0, 4);
LAYOUT_FIELD(WideFifoSlot, offset, 8, 8);
LAYOUT_FIELD(WideFifoSlot, size, 16, 8);
LAYOUT_FIELD(WideFifoSlot, pointer, 24, 8);

LAYOUT_SIZE(ConnectionInfo, 152);
LAYOUT_FIELD(ConnectionInfo, buffers, 0, 24);
LAYOUT_FIELD(ConnectionInfo, memory_handles, 24, 24);
LAYOUT_FIELD(ConnectionInfo, tail, 48, 8);
LAYOUT_FIELD(ConnectionInfo, head, 56, 8);
LAYOUT_FIELD(ConnectionInfo, flags, 64, 4);
LAYOUT_FIELD(ConnectionInfo, shared, 68, 4);
LAYOUT_FIELD(ConnectionInfo, step_size, 72, 4);
LAYOUT_FIELD(ConnectionInfo, pointer_exchange, 80, 8);
LAYOUT_FIELD(ConnectionInfo, scalar_exchange, 88, 8);
LAYOUT_FIELD(ConnectionInfo, fifo, 96, 8);
LAYOUT_FIELD(ConnectionInfo, step, 104, 8);
LAYOUT_FIELD(ConnectionInfo, last_cleaning, 112, 8);
LAYOUT_FIELD(ConnectionInfo, network_device_handle, 120, 32);

LAYOUT_SIZE(Ring, 32);
LAYOUT_FIELD(Ring, previous, 0, 4);
LAYOUT_FIELD(Ring, next, 4, 4);
LAYOUT_FIELD(Ring, user_ranks, 8, 8);
LAYOUT_FIELD(Ring, rank_to_index, 16, 8);
LAYOUT_FIELD(Ring, index, 24, 4);

LAYOUT_SIZE(Tree, 20);
LAYOUT_FIELD(Tree, depth, 0, 4);
LAYOUT_FIELD(Tree, up, 4, 4);
LAYOUT_FIELD(Tree, down, 8, 12);

LAYOUT_SIZE(PointToPointWork, 48);
LAYOUT_FIELD(PointToPointWork, send_address, 0, 8);
LAYOUT_FIELD(PointToPointWork, receive_address, 8, 8);
LAYOUT_FIELD(PointToPointWork, send_bytes, 16, 8);
LAYOUT_FIELD(PointToPointWork, receive_bytes, 24, 8);
LAYOUT_FIELD(PointToPointWork, send_rank, 32, 4);
LAYOUT_FIELD(PointToPointWork, receive_rank, 36, 4);
LAYOUT_FIELD(PointToPointWork, channel_count, 40, 1);
LAYOUT_FIELD(PointToPointWork, channel_base, 41, 1);
LAYOUT_FIELD(PointToPointWork, send_channel_count, 42, 1);
LAYOUT_FIELD(PointToPointWork, receive_channel_count, 43, 1);
LAYOUT_FIELD(PointToPointWork, send_chunk_code, 44, 1);
LAYOUT_FIELD(PointToPointWork, receive_chunk_code, 45, 1);

LAYOUT_SIZE(CollectiveWork, 96);
LAYOUT_FIELD(CollectiveWork, root, 4, 4);
LAYOUT_FIELD(CollectiveWork, receive_buffer, 8, 8);
LAYOUT_FIELD(CollectiveWork, send_buffer, 16, 8);
LAYOUT_FIELD(CollectiveWork, send_buffer_offset, 24, 8);
LAYOUT_FIELD(CollectiveWork, receive_buffer_offset, 32, 8);
LAYOUT_FIELD(CollectiveWork, send_remote_addresses, 40, 8);
LAYOUT_FIELD(CollectiveWork, receive_remote_addresses, 48, 8);
LAYOUT_FIELD(CollectiveWork, first_count, 56, 8);
LAYOUT_FIELD(CollectiveWork, middle_count, 64, 8);
LAYOUT_FIELD(CollectiveWork, last_count, 72, 8);
LAYOUT_FIELD(CollectiveWork, scalar, 88, 8);

LAYOUT_SIZE(BroadcastWork, 48);
LAYOUT_FIELD(BroadcastWork, ring_depth, 0, 4);
LAYOUT_FIELD(BroadcastWork, chunk_size, 4, 4);
LAYOUT_FIELD(BroadcastWork, send_buffer, 8, 8);
LAYOUT_FIELD(BroadcastWork, receive_buffer, 16, 8);
LAYOUT_FIELD(BroadcastWork, bytes_left, 24, 8);
LAYOUT_FIELD(BroadcastWork, bytes_done, 32, 8);

LAYOUT_SIZE(RegisteredCollectiveWork, 288);
LAYOUT_FIELD(RegisteredCollectiveWork, collective, 0, 96);
LAYOUT_FIELD(RegisteredCollectiveWork, down_inputs, 96, 64);
LAYOUT_FIELD(RegisteredCollectiveWork, down_outputs, 160, 64);
LAYOUT_FIELD(RegisteredCollectiveWork, up_outputs, 224, 64);

LAYOUT_SIZE(WorkBatch, 16);
LAYOUT_FIELD(WorkBatch, offset_base, 4, 4);
LAYOUT_FIELD(WorkBatch, offset_bits, 8, 8);

LAYOUT_SIZE(ChannelPeer, 608);
LAYOUT_FIELD(ChannelPeer, send, 0, 304);
LAYOUT_FIELD(ChannelPeer, receive, 304, 304);

LAYOUT_SIZE(CollnetDirect, 108);

LAYOUT_SIZE(Nvls, 160);

LAYOUT_SIZE(Channel, 368);
LAYOUT_FIELD(Channel, peers, 0, 8);
LAYOUT_FIELD(Channel, ring, 8, 32);
LAYOUT_FIELD(Channel, tree, 40, 20);
LAYOUT_FIELD(Channel, collnet_chain, 60, 20);
LAYOUT_FIELD(Channel, collnet_direct, 80, 108);
LAYOUT_FIELD(Channel, nvls, 188, 160);
LAYOUT_FIELD(Channel, work_fifo_done, 352, 8);
LAYOUT_FIELD(Channel, work_counter, 360, 8);

LAYOUT_SIZE(ProfilerCounters, 1024);
LAYOUT_FIELD(ProfilerCounters, entries, 0, 1024);
LAYOUT_FIELD(ProfilerCounters, entries[0].counter, 0, 8);
LAYOUT_FIELD(ProfilerCounters, entries[0].timestamp, 8, 8);

LAYOUT_SIZE(KernelCommunicator, 88);
LAYOUT_FIELD(KernelCommunicator, rank, 0, 4);
LAYOUT_FIELD(KernelCommunicator, rank_count, 4, 4);
LAYOUT_FIELD(KernelCommunicator, node, 8, 4);
LAYOUT_FIELD(KernelCommunicator, node_count, 12, 4);
LAYOUT_FIELD(KernelCommunicator, buffer_sizes, 16, 12);
LAYOUT_FIELD(KernelCommunicator, point_to_point_chunk_size, 28, 4);
LAYOUT_FIELD(KernelCommunicator, all_nvlink, 32, 4);
LAYOUT_FIELD(KernelCommunicator, collnet_dense_to_user_rank, 40, 8);
LAYOUT_FIELD(KernelCommunicator, abort_flag, 48, 8);
LAYOUT_FIELD(KernelCommunicator, channels, 56, 8);
LAYOUT_FIELD(KernelCommunicator, rank_to_local_rank, 64, 8);
LAYOUT_FIELD(KernelCommunicator, work_started, 72, 8);
LAYOUT_FIELD(KernelCommunicator, work_completed, 80, 8);

LAYOUT_SIZE(KernelCommunicatorAndChannels, 23648);
LAYOUT_FIELD(KernelCommunicatorAndChannels, communicator, 0, 88);
LAYOUT_FIELD(KernelCommunicatorAndChannels, channels, 96, 23552);

LAYOUT_SIZE(KernelArguments, 32);
LAYOUT_FIELD(KernelArguments, communicator, 0, 8);
LAYOUT_FIELD(KernelArguments, channel_mask, 8, 8);
LAYOUT_FIELD(KernelArguments, work_storage, 16, 1);
LAYOUT_FIELD(KernelArguments, work_mask, 20, 4);
LAYOUT_FIELD(KernelArguments, work_buffer, 24, 8);

LAYOUT_FIELD(PointToPointWork, flags, 46, sizeof(std::uint8_t));
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, send_low_latency, 0, 1);
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, receive_low_latency, 1, 1);
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, send_network_registered, 2, 1);
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, receive_network_registered, 3, 1);
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, send_ipc_registered, 4, 1);
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, receive_ipc_registered, 5, 1);
LAYOUT_BITS(PointToPointWork::Flags, std::uint8_t, profiler_enabled, 6, 1);

LAYOUT_FIELD(CollectiveWork, flags, 0, sizeof(std::uint32_t));
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, first_channel, 0, 8);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, last_channel, 8, 8);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, warp_count, 16, 8);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, scalar_is_pointer, 24, 1);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, registered, 25, 1);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, network_registered, 26, 1);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, one_node, 27, 1);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, direct, 28, 2);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, one_rank_per_node, 30, 1);
LAYOUT_BITS(CollectiveWork::Flags, std::uint32_t, profiler_enabled, 31, 1);

LAYOUT_FIELD(CollectiveWork, chunk_grains, 80, sizeof(std::uint64_t));
LAYOUT_BITS(CollectiveWork::ChunkGrains, std::uint64_t, first, 0, 21);
LAYOUT_BITS(CollectiveWork::ChunkGrains, std::uint64_t, middle, 21, 21);
LAYOUT_BITS(CollectiveWork::ChunkGrains, std::uint64_t, last, 42, 21);

LAYOUT_FIELD(WorkBatch, flags, 0, sizeof(std::uint32_t));
LAYOUT_BITS(WorkBatch::Flags, std::uint32_t, next_jump, 0, 14);
LAYOUT_BITS(WorkBatch::Flags, std::uint32_t, next_extends, 14, 1);
LAYOUT_BITS(WorkBatch::Flags, std::uint32_t, work_type, 15, 2);
LAYOUT_BITS(WorkBatch::Flags, std::uint32_t, function_id, 17, 11);

}  // namespace emugpu::nccl
