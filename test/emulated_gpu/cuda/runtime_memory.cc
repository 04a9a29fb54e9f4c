// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: memory and copies.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "activity.h"
#include "device.h"
#include "memory.h"
#include "runtime_error.h"
#include "stream.h"

using namespace emugpu;
using activity::Call;

namespace {

activity::Memory memory_of(const void* pointer) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return activity::Memory::kPageable;
  return allocation->kind == MemoryKind::kDevice ? activity::Memory::kDevice
                                                 : activity::Memory::kPinned;
}

activity::Record copy_record(void* destination, const void* source, std::size_t size) {
  activity::Record record;
  record.kind = activity::Kind::kCopy;
  record.from = memory_of(source);
  record.to = memory_of(destination);
  record.bytes = size;
  return record;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t size) {
  *pointer = allocate_memory(size, MemoryKind::kDevice);
  return result(*pointer != nullptr, cudaErrorMemoryAllocation, "cudaMalloc");
}

// Unlike the real one, this never waits for the device: a caller with kernels of two
// communicators in flight must not deadlock here.
cudaError_t cudaFree(void* pointer) {
  return result(free_memory(pointer), cudaErrorInvalidValue, "cudaFree");
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned) {
  *pointer = allocate_memory(size, MemoryKind::kPinnedHost);
  return result(*pointer != nullptr, cudaErrorMemoryAllocation, "cudaHostAlloc");
}

cudaError_t cudaMallocHost(void** pointer, std::size_t size) {
  return cudaHostAlloc(pointer, size, 0);
}

cudaError_t cudaFreeHost(void* pointer) {
  return result(free_memory(pointer), cudaErrorInvalidValue, "cudaFreeHost");
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned) {
  *device_pointer = host_pointer;
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, std::size_t size, unsigned) {
  register_host_memory(pointer, size);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  return result(unregister_host_memory(pointer), cudaErrorInvalidValue, "cudaHostUnregister");
}

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  *total = kTotalMemory;
  *available = kTotalMemory / 8 * 7;
  return cudaSuccess;
}

// Only the four fields that all CUDA releases share are written: the structure has grown since.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  void* const address = const_cast<void*>(pointer);
  const auto allocation = find_allocation(pointer);
  if (!allocation) {
    constexpr int kNoDevice = -2;
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = kNoDevice;
    attributes->devicePointer = nullptr;
    attributes->hostPointer = address;
    return cudaSuccess;
  }
  const bool on_device = allocation->kind == MemoryKind::kDevice;
  attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->device = allocation->device;
  attributes->devicePointer = address;
  attributes->hostPointer = on_device ? nullptr : address;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t size, cudaMemcpyKind,
                            cudaStream_t handle) {
  const Call call("cudaMemcpyAsync");
  Stream& stream = Stream::from_handle(handle);
  const activity::Record record = copy_record(destination, source, size);
  if (!find_allocation(source)) {
    // Pageable memory is staged: the caller may reuse it as soon as this returns.
    const auto* const bytes = static_cast<const char*>(source);
    activity::enqueue(stream, record,
                      [staged = std::vector<char>(bytes, bytes + size), destination] {
                        std::memcpy(destination, staged.data(), staged.size());
                      });
    return cudaSuccess;
  }
  activity::enqueue(stream, record, [=] { std::memmove(destination, source, size); });
  // A copy to pageable memory returns when it is done.
  if (!find_allocation(destination)) stream.synchronize();
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t size,
                       cudaMemcpyKind kind) {
  const Call call("cudaMemcpy");
  const cudaError_t error = cudaMemcpyAsync(destination, source, size, kind, nullptr);
  Stream::from_handle(nullptr).synchronize();
  return error;
}

cudaError_t cudaMemsetAsync(void* destination, int value, std::size_t size, cudaStream_t handle) {
  const Call call("cudaMemsetAsync");
  activity::Record record;
  record.kind = activity::Kind::kSet;
  record.to = memory_of(destination);
  record.bytes = size;
  record.value = static_cast<unsigned>(value);
  activity::enqueue(Stream::from_handle(handle), record,
                    [=] { std::memset(destination, value, size); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* destination, int value, std::size_t size) {
  const Call call("cudaMemset");
  const cudaError_t error = cudaMemsetAsync(destination, value, size, nullptr);
  Stream::from_handle(nullptr).synchronize();
  return error;
}

// Memory pools are plain allocations.

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = static_cast<cudaMemPool_t>(std::malloc(1));
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  std::free(pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t) {
  return cudaMalloc(pointer, size);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t size, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(pointer, size);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  Stream::from_handle(handle).enqueue([pointer] { free_memory(pointer); });
  return cudaSuccess;
}

// Processes share no device memory.

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  return not_supported("cudaIpcGetMemHandle");
}

cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return not_supported("cudaIpcOpenMemHandle");
}

cudaError_t cudaIpcCloseMemHandle(void*) {
  return not_supported("cudaIpcCloseMemHandle");
}

}  // extern "C"
