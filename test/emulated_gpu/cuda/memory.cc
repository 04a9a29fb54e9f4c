// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <iterator>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#include "device.h"

namespace emugpu {
namespace {

constexpr std::size_t kPageSize = 4096;

struct Registry {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;  // by base address
  std::uint64_t next_id = 1;
  long kernels_in_flight = 0;
  std::vector<Allocation> freed_meanwhile;
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void remember(void* pointer, std::size_t size, MemoryKind kind, bool registered) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.allocations[address(pointer)] =
      Allocation{address(pointer), size, kind, current_device(), all.next_id++, registered};
}

void unmap(const Allocation& allocation) {
  munmap(reinterpret_cast<void*>(allocation.base), allocation.size);
}

// Removes the allocation that begins at the pointer, provided that it is of the expected origin.
std::optional<Allocation> forget(void* pointer, bool registered) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.allocations.find(address(pointer));
  if (found == all.allocations.end() || found->second.registered != registered) return std::nullopt;
  const Allocation result = found->second;
  all.allocations.erase(found);
  return result;
}

}  // namespace

void* allocate_memory(std::size_t size, MemoryKind kind) {
  const std::size_t rounded =
      size == 0 ? kPageSize : (size + kPageSize - 1) / kPageSize * kPageSize;
  void* pointer =
      mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) return nullptr;
  remember(pointer, rounded, kind, false);
  return pointer;
}

bool free_memory(void* pointer) {
  if (pointer == nullptr) return true;
  const std::optional<Allocation> allocation = forget(pointer, false);
  if (!allocation) return false;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.kernels_in_flight > 0) {
    all.freed_meanwhile.push_back(*allocation);
  } else {
    unmap(*allocation);
  }
  return true;
}

void kernel_launched() {
  const std::lock_guard lock(registry().mutex);
  ++registry().kernels_in_flight;
}

void kernel_ended() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (--all.kernels_in_flight > 0) return;
  for (const Allocation& allocation : all.freed_meanwhile) unmap(allocation);
  all.freed_meanwhile.clear();
}

void register_host_memory(void* pointer, std::size_t size) {
  remember(pointer, size, MemoryKind::kPinnedHost, true);
}

bool unregister_host_memory(void* pointer) {
  return forget(pointer, true).has_value();
}

std::optional<Allocation> find_allocation(const void* pointer) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto after = all.allocations.upper_bound(address(pointer));
  if (after == all.allocations.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(after)->second;
  if (address(pointer) - candidate.base >= candidate.size) return std::nullopt;
  return candidate;
}

}  // namespace emugpu
