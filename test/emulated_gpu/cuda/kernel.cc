// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>

#include "log.h"
#include "memory.h"

namespace emugpu {
namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, std::string> names;
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

std::atomic<KernelExecutor> current_executor{nullptr};

// Kernel arguments hold 16-byte-aligned structures.
class ArgumentCopy {
 public:
  ArgumentCopy(const void* source, std::size_t size)
      : size_(size), data_(::operator new (size, std::align_val_t{16})) {
    std::memcpy(data_, source, size);
  }
  ~ArgumentCopy() { ::operator delete (data_, std::align_val_t{16}); }
  ArgumentCopy(const ArgumentCopy&) = delete;
  ArgumentCopy& operator=(const ArgumentCopy&) = delete;

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  void* data_;
};

std::shared_ptr<ArgumentCopy> copy_packed_arguments(void** extra) {
  // The keys of cuLaunchKernel's `extra` list.
  void* const buffer_key = reinterpret_cast<void*>(std::uintptr_t{1});
  void* const size_key = reinterpret_cast<void*>(std::uintptr_t{2});
  const void* source = nullptr;
  std::size_t size = 0;
  for (void** entry = extra; entry != nullptr && entry[0] != nullptr; entry += 2) {
    if (entry[0] == buffer_key) source = entry[1];
    if (entry[0] == size_key) size = *static_cast<std::size_t*>(entry[1]);
  }
  if (source == nullptr || size == 0) return nullptr;
  return std::make_shared<ArgumentCopy>(source, size);
}

}  // namespace

void set_kernel_executor(KernelExecutor executor) {
  current_executor = executor;
}

void register_kernel(const void* function, std::string name) {
  const std::lock_guard lock(registry().mutex);
  registry().names[function] = std::move(name);
}

std::optional<std::string> kernel_name(const void* function) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().names.find(function);
  if (found == registry().names.end()) return std::nullopt;
  return found->second;
}

bool launch_kernel(const void* function, unsigned grid, unsigned block, Stream& stream,
                   void** extra) {
  const std::string name = kernel_name(function).value_or("an unregistered kernel");
  const std::shared_ptr<ArgumentCopy> arguments = copy_packed_arguments(extra);
  const KernelExecutor executor = current_executor;
  trace("launch %s grid %u block %u stream %lu", name.c_str(), grid, block, stream.id());
  if (arguments == nullptr || executor == nullptr) {
    trace("%s cannot be emulated", name.c_str());
    return false;
  }
  kernel_launched();
  stream.enqueue([=] {
    // The time from a launch to the kernel's first instruction.
    static const std::chrono::microseconds delay(environment_number("EMUGPU_LAUNCH_US", 5));
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    executor(KernelLaunch{name, arguments->data(), arguments->size(), grid, block});
    kernel_ended();
  });
  return true;
}

}  // namespace emugpu
