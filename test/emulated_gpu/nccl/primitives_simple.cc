// SPDX-License-Identifier: Apache-2.0
//
// The simple protocol: a chunk is cut into slices; head and tail count the steps of the buffer.
#include <algorithm>
#include <cstring>

#include "fifo.h"
#include "primitives.h"

namespace emugpu::nccl {
namespace {

std::size_t divide_up(std::size_t value, std::size_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

char* Primitives::simple_slot(const Connection& connection) const {
  const ConnectionInfo& info = *connection.info;
  const std::uint64_t slot = connection.step % kStepsPerBuffer;
  if (const auto offset = announced_offset(info, slot)) return info.buffers[kSimple] + *offset;
  return info.buffers[kSimple] + slot * static_cast<std::size_t>(info.step_size);
}

Task Primitives::run_simple(Move move) {
  // Both ends compute the slices from the chunk alone, so they agree.
  constexpr std::size_t kSliceAlignment = 16;
  constexpr std::size_t kSmallestShare = 32;
  const auto slices = static_cast<std::size_t>(slices_per_chunk_);
  const auto steps = static_cast<std::uint64_t>(steps_per_slice_);
  const std::size_t slice =
      std::max(divide_up(move.count, kSliceAlignment * slices) * kSliceAlignment,
               step_elements_ * steps / kSmallestShare);

  std::size_t offset = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t count = std::min(slice, move.count - offset);
    if (move.receive) {
      for (Connection& connection : receiving_) {
        co_await block_.scheduler.until([&] { return slot_filled(connection, steps_per_slice_); });
      }
    }
    if (move.send) {
      for (Connection& connection : sending_) {
        co_await block_.scheduler.until([&] { return slot_free(connection, steps_per_slice_); });
        announce_size(*connection.info, connection.step, count * reduction_.element_size());
      }
    }
    if (count > 0) move_slice(move, offset, count);
    if (move.receive) {
      for (Connection& connection : receiving_) {
        connection.step += steps;
        __atomic_store_n(connection.info->head, connection.step, __ATOMIC_RELEASE);
      }
    }
    if (move.send) {
      for (Connection& connection : sending_) {
        connection.step += steps;
        __atomic_store_n(connection.info->tail, connection.step, __ATOMIC_RELEASE);
      }
    }
    offset += count;
  }
}

void Primitives::move_slice(const Move& move, std::size_t offset, std::size_t count) {
  const std::size_t element = reduction_.element_size();
  const std::size_t bytes = count * element;

  std::vector<const char*> sources;
  if (move.input != nullptr) {
    sources.push_back(reduction_.prepare(move.input + offset * element, count, scaled_));
  }
  if (move.receive) {
    for (const Connection& connection : receiving_) sources.push_back(simple_slot(connection));
  }
  std::vector<char*> destinations;
  if (move.output != nullptr) destinations.push_back(move.output + offset * element);
  if (move.send) {
    for (const Connection& connection : sending_) destinations.push_back(simple_slot(connection));
  }
  if (sources.empty() || destinations.empty()) return;

  char* const first = destinations.front();
  if (sources.size() == 1) {
    if (first != sources[0]) std::memmove(first, sources[0], bytes);
  } else {
    reduction_.combine(first, sources[0], sources[1], count);
    for (std::size_t i = 2; i < sources.size(); ++i) {
      reduction_.combine(first, first, sources[i], count);
    }
  }
  if (move.completes) reduction_.finish(first, count);
  for (std::size_t i = 1; i < destinations.size(); ++i) std::memcpy(destinations[i], first, bytes);
}

}  // namespace emugpu::nccl
