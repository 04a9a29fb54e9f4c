// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>

#include "activity.h"
#include "device.h"
#include "log.h"
#include "memory.h"

namespace emugpu {
namespace {

struct Names {
  std::string plain;
  std::string device;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, Names> names;
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

// "_Z<length><name>..." becomes "<name>".
std::string plain_name(const char* mangled) {
  if (std::strncmp(mangled, "_Z", 2) != 0) return mangled;
  char* name = nullptr;
  const std::size_t length = std::strtoul(mangled + 2, &name, 10);
  if (length == 0 || length > std::strlen(name)) return mangled;
  return std::string(name, length);
}

// Names stay where they are for as long as the process lives.
const char* device_name(const void* function) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().names.find(function);
  return found == registry().names.end() ? "an unregistered kernel" : found->second.device.c_str();
}

activity::Record kernel_record(const void* function, Dimensions grid, Dimensions block) {
  activity::Record record;
  record.kind = activity::Kind::kKernel;
  record.name = device_name(function);
  std::copy_n(std::array{grid.x, grid.y, grid.z}.begin(), 3, record.grid);
  std::copy_n(std::array{block.x, block.y, block.z}.begin(), 3, record.block);
  return record;
}

// The time from a launch to the kernel's first instruction.
void enqueue_delay(Stream& stream) {
  static const std::chrono::microseconds delay(environment_number("EMUGPU_LAUNCH_US", 5));
  if (delay.count() > 0) stream.enqueue([] { std::this_thread::sleep_for(delay); });
}

std::chrono::nanoseconds length_of(const std::string& name, void** arguments) {
  static const std::chrono::microseconds usual(environment_number("EMUGPU_KERNEL_US", 0));
  if (name.find("11spin_kernelEl") == std::string::npos) return usual;
  const double cycles = static_cast<double>(*static_cast<const std::int64_t*>(arguments[0]));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(cycles / kClockKhz * 1e6));
}

}  // namespace

void set_kernel_executor(KernelExecutor executor) {
  current_executor = executor;
}

void register_kernel(const void* function, const char* device_name) {
  const std::lock_guard lock(registry().mutex);
  registry().names[function] = {plain_name(device_name), device_name};
}

std::optional<std::string> kernel_name(const void* function) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().names.find(function);
  if (found == registry().names.end()) return std::nullopt;
  return found->second.plain;
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
  stream.submit([=](Stream& of) {
    kernel_launched();
    enqueue_delay(of);
    activity::enqueue(of, kernel_record(function, {grid}, {block}), [=] {
      executor(KernelLaunch{name, arguments->data(), arguments->size(), grid, block});
      kernel_ended();
    });
  });
  return true;
}

void launch_idle_kernel(const void* function, Dimensions grid, Dimensions block, Stream& stream,
                        void** arguments) {
  const std::string name = kernel_name(function).value_or("an unregistered kernel");
  trace("launch %s, which does nothing, stream %lu", name.c_str(), stream.id());
  enqueue_delay(stream);
  activity::enqueue(stream, kernel_record(function, grid, block),
                    [length = length_of(name, arguments)] { std::this_thread::sleep_for(length); });
}

}  // namespace emugpu
