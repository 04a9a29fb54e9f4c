// SPDX-License-Identifier: Apache-2.0
#include "fifo.h"

namespace emugpu::nccl {
namespace {

constexpr int kModeOffset = 1;  // the step's data lies at `offset` in the buffer

template <class Slot>
Slot& slot_of(const ConnectionInfo& connection, std::uint64_t step) {
  return static_cast<Slot*>(connection.fifo)[step % kStepsPerBuffer];
}

template <class Slot>
std::optional<ssize_t> offset_in(const Slot& slot) {
  if (slot.mode != kModeOffset) return std::nullopt;
  return __atomic_load_n(&slot.offset, __ATOMIC_ACQUIRE);
}

}  // namespace

std::optional<ssize_t> announced_offset(const ConnectionInfo& connection, std::uint64_t step) {
  if (connection.fifo == nullptr) return std::nullopt;
  return differences.wide_fifo ? offset_in(slot_of<WideFifoSlot>(connection, step))
                               : offset_in(slot_of<FifoSlot>(connection, step));
}

void announce_size(const ConnectionInfo& connection, std::uint64_t step, std::size_t bytes) {
  if (connection.fifo == nullptr) return;
  ssize_t& size = differences.wide_fifo ? slot_of<WideFifoSlot>(connection, step).size
                                        : slot_of<FifoSlot>(connection, step).size;
  __atomic_store_n(&size, static_cast<ssize_t>(bytes), __ATOMIC_RELEASE);
}

}  // namespace emugpu::nccl
