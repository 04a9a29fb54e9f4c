// SPDX-License-Identifier: Apache-2.0
//
// The steps that collectives are made of: send, receive, reduce and copy one chunk, in either
// protocol, over this channel's connections to some peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi.h"
#include "reduction.h"
#include "scheduler.h"

namespace emugpu::nccl {

// One block of a kernel: it works for one channel of one communicator.
struct Block {
  Scheduler& scheduler;
  KernelCommunicator& communicator;
  Channel& channel;
  int channel_index;
};

struct PrimitivesOptions {
  Protocol protocol = kSimple;
  int slices_per_chunk = 1;  // of the simple protocol
  int steps_per_slice = 1;
  int connection_index = 0;    // 0 for collectives, 1 for point to point
  std::size_t step_bytes = 0;  // 0: the buffer's size divided by its steps
};

class Primitives {
 public:
  // Peers are ranks; negative ones are absent.
  Primitives(Block& block, std::span<const int> receive_peers, std::span<const int> send_peers,
             const void* input, void* output, const Reduction& reduction,
             const PrimitivesOptions& options);

  // Stores how far each connection has come, for the next kernel.
  ~Primitives();

  Primitives(const Primitives&) = delete;
  Primitives& operator=(const Primitives&) = delete;

  void set_buffers(const void* input, void* output);

  // Offsets and counts are in elements of the user's buffers.
  Task send(std::size_t input, std::size_t count);
  Task copy_send(std::size_t input, std::size_t output, std::size_t count);
  Task receive(std::size_t output, std::size_t count);
  Task receive_copy_send(std::size_t output, std::size_t count);
  Task receive_reduce_send(std::size_t input, std::size_t count);
  // These two complete the reduction of their chunk.
  Task receive_reduce_copy(std::size_t input, std::size_t output, std::size_t count);
  Task receive_reduce_copy_send(std::size_t input, std::size_t output, std::size_t count);

 private:
  struct Connection {
    ConnectionInfo* info;
    std::uint64_t step;
  };

  // One chunk's way: from the peers and the input, reduced, to the output and the peers.
  struct Move {
    bool receive = false;
    bool send = false;
    const char* input = nullptr;
    char* output = nullptr;
    std::size_t count = 0;
    bool completes = false;
  };

  Task run(Move move) { return low_latency_ ? run_low_latency(move) : run_simple(move); }
  Task run_simple(Move move);
  void move_slice(const Move& move, std::size_t offset, std::size_t count);
  Task run_low_latency(Move move);
  void announce_low_latency(const Connection& connection, std::size_t lines);
  void write_lines(Connection& connection, const char* data, std::size_t lines);
  Task read_lines(Connection& connection, char* data, std::size_t lines);

  bool slot_filled(const Connection& connection, int steps) const;
  bool slot_free(const Connection& connection, int steps) const;
  char* simple_slot(const Connection& connection) const;
  LowLatencyLine* low_latency_slot(const Connection& connection) const;

  const char* input_at(std::size_t element) const {
    return input_ + element * reduction_.element_size();
  }
  char* output_at(std::size_t element) const {
    return output_ + element * reduction_.element_size();
  }

  Block& block_;
  const Reduction reduction_;
  const bool low_latency_;
  const int slices_per_chunk_;
  const int steps_per_slice_;
  std::size_t step_elements_;
  std::size_t lines_per_slot_;
  const char* input_;
  char* output_;
  std::vector<Connection> receiving_;
  std::vector<Connection> sending_;
  std::vector<char> scaled_;    // scratch of the reduction
  std::vector<char> gathered_;  // low latency: the chunk on its way
  std::vector<char> arrived_;   // low latency: one peer's contribution
};

}  // namespace emugpu::nccl
