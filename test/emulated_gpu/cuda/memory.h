// SPDX-License-Identifier: Apache-2.0
//
// Memory of the emulated devices. It is ordinary host memory; a registry remembers what each
// range pretends to be, because callers ask for the kind and the device of a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace emugpu {

enum class MemoryKind { kDevice, kPinnedHost };

struct Allocation {
  std::uintptr_t base = 0;
  std::size_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  std::uint64_t id = 0;
  bool registered = false;  // the caller's own memory, made known with register_host_memory
};

// Zero-filled and page-aligned; null when memory is exhausted.
void* allocate_memory(std::size_t size, MemoryKind kind);

// The memory stays mapped while a kernel is in flight that may use it. CUDA's own cudaFree waits
// for kernels instead; that would deadlock a process whose kernels wait for each other, and a
// communicator that is aborted frees what its kernels are still looking at.
bool free_memory(void* pointer);

// A kernel is in flight from its launch to its end.
void kernel_launched();
void kernel_ended();

void register_host_memory(void* pointer, std::size_t size);
bool unregister_host_memory(void* pointer);

// The allocation that contains the address, if any.
std::optional<Allocation> find_allocation(const void* pointer);

}  // namespace emugpu
