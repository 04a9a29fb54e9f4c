// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/ring_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ringside::record {

thread_local constinit Ring* RingPool::thread_ring_ = nullptr;

void RingPool::prepare() noexcept {
  usable_.store(pthread_key_create(&key_, &RingPool::on_thread_exit) == 0,
                std::memory_order_release);
}

void RingPool::set_ring_bytes(std::uint64_t bytes) noexcept {
  ring_bytes_.store(std::bit_ceil(std::clamp(bytes, kLeastBytes, kMostBytes)),
                    std::memory_order_relaxed);
}

Ring* RingPool::acquire() noexcept {
  if (!usable_.load(std::memory_order_acquire)) {
    return nullptr;
  }
  Ring* ring = take_free();
  if (ring == nullptr) {
    ring = map_new();
  }
  if (ring == nullptr) {
    return nullptr;
  }
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  for (std::size_t i = 0; i < name.size(); ++i) {
    ring->thread_name[i].store(name[i], std::memory_order_relaxed);
  }
  ring->tid.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  ring->owners.fetch_add(1, std::memory_order_release);
  thread_ring_ = ring;
  pthread_setspecific(key_, ring);
  return ring;
}

Ring* RingPool::take_free() noexcept {
  const std::uint32_t known = count();
  for (std::uint32_t i = 0; i < known; ++i) {
    Ring* candidate = ring(i);
    RingState expected = RingState::kFree;
    // Acquire: all that the last owner and the consumer did to the ring comes before what we do.
    if (candidate != nullptr && candidate->state.compare_exchange_strong(
                                    expected, RingState::kOwned, std::memory_order_acq_rel)) {
      return candidate;
    }
  }
  return nullptr;
}

Ring* RingPool::map_new() noexcept {
  std::uint32_t index = count_.load(std::memory_order_relaxed);
  do {
    if (index >= kMaxRings) {
      return nullptr;
    }
  } while (!count_.compare_exchange_weak(index, index + 1, std::memory_order_acq_rel));
  const std::uint64_t slots_bytes = ring_bytes_.load(std::memory_order_relaxed);
  // Populated here, so that no later event meets a page fault.
  void* memory = mmap(nullptr, sizeof(Ring) + slots_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;  // the index stays without a ring; who drains skips it
  }
  Ring* made = new (memory) Ring{};
  made->magic = kRingMagic;
  made->version = kRingVersion;
  made->slot_bytes = sizeof(Slot);
  made->capacity = slots_bytes / sizeof(Slot);
  made->index = index;
  made->next_counter = 1;
  made->state.store(RingState::kOwned, std::memory_order_relaxed);
  rings_[index].store(made, std::memory_order_release);
  return made;
}

void RingPool::on_thread_exit(void* memory) noexcept {
  auto* ring = static_cast<Ring*>(memory);
  // A callback from a later destructor of this thread registers anew, and this runs again.
  thread_ring_ = nullptr;
  ring->state.store(RingState::kRetired, std::memory_order_release);
}

void RingPool::close_in_child() noexcept {
  usable_.store(false, std::memory_order_release);
  thread_ring_ = nullptr;
}

}  // namespace ringside::record
