// SPDX-License-Identifier: Apache-2.0
//
// The part of the CUDA driver API (libcuda.so.1) that NCCL uses.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>

#include "activity.h"
#include "device.h"
#include "event.h"
#include "kernel.h"
#include "log.h"
#include "memory.h"
#include "stream.h"

// cuda.h renames these to versioned symbols; here each exported name is spelled out.
#undef cuCtxCreate
#undef cuDeviceGetUuid
#undef cuGetProcAddress
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemGetAddressRange

using namespace emugpu;

namespace {

// A context is nothing but its device: handle N + 1 is the primary context of device N.
CUcontext context_of(int ordinal) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(ordinal) + 1);
}

int device_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
}

const void* pointer_at(CUdeviceptr address) {
  return reinterpret_cast<const void*>(address);
}

int attribute_value(CUdevice_attribute attribute, int ordinal) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return kComputeCapabilityMajor;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return kComputeCapabilityMinor;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return kMaxThreadsPerBlock;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return kSharedMemoryPerBlock;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return kSharedMemoryPerBlockOptin;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return kMultiprocessorCount;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return kWarpSize;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return kClockKhz;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device(ordinal).pci_bus;
    default:
      trace("device attribute %d reads as 0", static_cast<int>(attribute));
      return 0;
  }
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_SUCCESS ? "no error" : "error of the emulated CUDA driver";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char** name) {
  *name = result == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_EMULATED";
  return CUDA_SUCCESS;
}

// Devices and contexts

CUresult cuDeviceGetCount(int* count) {
  *count = device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* result, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *result = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(size), "%s", device(ordinal).name.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, device(ordinal).uuid.data(), sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

// Of an instance of a divided GPU, this is the instance's.
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  const CUresult result = cuDeviceGetUuid(uuid, ordinal);
  if (result == CUDA_SUCCESS && environment_number("EMUGPU_MIG", 0) != 0) {
    uuid->bytes[15] = static_cast<char>(~uuid->bytes[15]);
  }
  return result;
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = kTotalMemory;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* bus_id, int size, CUdevice ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(bus_id, static_cast<std::size_t>(size), "%s", device(ordinal).pci_bus_id.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute_value(attribute, ordinal);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = context_of(current_device());
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return context == nullptr || set_current_device(device_of(context)) ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetDevice(CUdevice* ordinal) {
  *ordinal = current_device();
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned, CUdevice ordinal) {
  *context = context_of(ordinal);
  return cuCtxSetCurrent(*context);
}

CUresult cuCtxDestroy_v2(CUcontext) {
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  *context = context_of(ordinal);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return CUDA_SUCCESS;
}

// Memory

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t size) {
  void* const memory = allocate_memory(size, MemoryKind::kDevice);
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return free_memory(reinterpret_cast<void*>(pointer)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* size, CUdeviceptr pointer) {
  const auto allocation = find_allocation(pointer_at(pointer));
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  if (base != nullptr) *base = allocation->base;
  if (size != nullptr) *size = allocation->size;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const auto allocation = find_allocation(pointer_at(pointer));
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          allocation->kind == MemoryKind::kDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = allocation->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = allocation->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = allocation->base;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(value) = allocation->size;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(value) = 0;
      return CUDA_SUCCESS;
    default:
      trace("pointer attribute %d is not emulated", static_cast<int>(attribute));
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_SUCCESS;
}

// NCCL asks for this even where it then uses none of the virtual memory management, whose other
// entry points are absent on purpose.
CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *granularity = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}

// Kernels

CUresult cuLaunchKernel(CUfunction function, unsigned grid, unsigned, unsigned, unsigned block,
                        unsigned, unsigned, unsigned, CUstream stream, void**, void** extra) {
  const activity::Call call("cuLaunchKernel", true);
  return launch_kernel(function, grid, block, Stream::from_handle(stream), extra)
             ? CUDA_SUCCESS
             : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void** extra) {
  const activity::Call call("cuLaunchKernelEx", true);
  Stream& stream = Stream::from_handle(config->hStream);
  if (!launch_kernel(function, config->gridDimX, config->blockDimX, stream, extra)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) continue;
    // Later than on a real device, where the event completes when the kernel's blocks have begun.
    reinterpret_cast<Event*>(attribute.value.launchCompletionEvent.event)->record(stream);
  }
  return CUDA_SUCCESS;
}

// Entry points by name: the newest version exported above, or none.
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  *function = nullptr;
  for (const char* suffix : {"_v3", "_v2", ""}) {
    const std::string name = std::string(symbol) + suffix;
    *function = dlsym(self, name.c_str());
    if (*function != nullptr) break;
  }
  if (status != nullptr) {
    *status =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  trace("driver entry point %s (%d): %s", symbol, version, *function ? "found" : "absent");
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // extern "C"
