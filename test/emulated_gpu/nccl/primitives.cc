// SPDX-License-Identifier: Apache-2.0
#include "primitives.h"

namespace emugpu::nccl {
namespace {

// Connections advance by whole chunks: a kernel that used other sizes may have left the step in
// between.
std::uint64_t round_up(std::uint64_t step, std::uint64_t multiple) {
  return (step + multiple - 1) / multiple * multiple;
}

}  // namespace

Primitives::Primitives(Block& block, std::span<const int> receive_peers,
                       std::span<const int> send_peers, const void* input, void* output,
                       const Reduction& reduction, const PrimitivesOptions& options)
    : block_(block),
      reduction_(reduction),
      low_latency_(options.protocol == kLowLatency),
      slices_per_chunk_(options.slices_per_chunk),
      steps_per_slice_(options.steps_per_slice) {
  set_buffers(input, output);
  const int* const sizes = block.communicator.buffer_sizes;
  const std::size_t step_bytes = options.step_bytes != 0
                                     ? options.step_bytes
                                     : static_cast<std::size_t>(sizes[kSimple]) / kStepsPerBuffer;
  step_elements_ = step_bytes / reduction_.element_size();
  lines_per_slot_ =
      static_cast<std::size_t>(sizes[kLowLatency]) / kStepsPerBuffer / sizeof(LowLatencyLine);

  const auto first_step = [&](const ConnectionInfo& info) {
    const auto chunk = static_cast<std::uint64_t>(slices_per_chunk_ * steps_per_slice_);
    return low_latency_ ? info.step : round_up(info.step, chunk);
  };
  for (const int peer : receive_peers) {
    if (peer < 0) continue;
    ConnectionInfo& info = block.channel.peers[peer]->receive[options.connection_index];
    receiving_.push_back(Connection{&info, first_step(info)});
    // Tell the sender about the steps skipped.
    if (!low_latency_) __atomic_store_n(info.head, receiving_.back().step, __ATOMIC_RELEASE);
  }
  for (const int peer : send_peers) {
    if (peer < 0) continue;
    ConnectionInfo& info = block.channel.peers[peer]->send[options.connection_index];
    sending_.push_back(Connection{&info, first_step(info)});
  }
}

Primitives::~Primitives() {
  for (const Connection& connection : receiving_) connection.info->step = connection.step;
  for (const Connection& connection : sending_) connection.info->step = connection.step;
}

void Primitives::set_buffers(const void* input, void* output) {
  input_ = static_cast<const char*>(input);
  output_ = static_cast<char*>(output);
}

Task Primitives::send(std::size_t input, std::size_t count) {
  return run({.send = true, .input = input_at(input), .count = count});
}

Task Primitives::copy_send(std::size_t input, std::size_t output, std::size_t count) {
  return run({.send = true, .input = input_at(input), .output = output_at(output), .count = count});
}

Task Primitives::receive(std::size_t output, std::size_t count) {
  return run({.receive = true, .output = output_at(output), .count = count});
}

Task Primitives::receive_copy_send(std::size_t output, std::size_t count) {
  return run({.receive = true, .send = true, .output = output_at(output), .count = count});
}

Task Primitives::receive_reduce_send(std::size_t input, std::size_t count) {
  return run({.receive = true, .send = true, .input = input_at(input), .count = count});
}

Task Primitives::receive_reduce_copy(std::size_t input, std::size_t output, std::size_t count) {
  return run({.receive = true,
              .input = input_at(input),
              .output = output_at(output),
              .count = count,
              .completes = true});
}

Task Primitives::receive_reduce_copy_send(std::size_t input, std::size_t output,
                                          std::size_t count) {
  return run({.receive = true,
              .send = true,
              .input = input_at(input),
              .output = output_at(output),
              .count = count,
              .completes = true});
}

bool Primitives::slot_filled(const Connection& connection, int steps) const {
  return __atomic_load_n(connection.info->tail, __ATOMIC_ACQUIRE) >=
         connection.step + static_cast<std::uint64_t>(steps);
}

bool Primitives::slot_free(const Connection& connection, int steps) const {
  return __atomic_load_n(connection.info->head, __ATOMIC_ACQUIRE) + kStepsPerBuffer >=
         connection.step + static_cast<std::uint64_t>(steps);
}

}  // namespace emugpu::nccl
