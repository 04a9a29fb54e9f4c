// SPDX-License-Identifier: Apache-2.0
//
// The part of NVML (libnvidia-ml.so.1) that NCCL uses. No NVLink and no fabric: those queries
// answer "not supported". The interface is declared here, so that no NVML header is needed. NCCL
// looks functions up by their plain names; both those and the versioned ones are exported.
#include <cstdint>
#include <cstring>

#include "device.h"

using namespace emugpu;

namespace {

enum Result { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3 };

// A handle is the ordinal plus one.
using Handle = void*;

Handle handle_of(int ordinal) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(ordinal) + 1);
}

int ordinal_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return kSuccess;
}
int nvmlInit() {
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}

const char* nvmlErrorString(int result) {
  return result == kSuccess ? "Success" : "error of the emulated NVML";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(device_count());
  return kSuccess;
}

int nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  const int ordinal = static_cast<int>(index);
  if (!is_device(ordinal)) return kInvalidArgument;
  *handle = handle_of(ordinal);
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex(unsigned index, Handle* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Handle* handle) {
  // NVML's own ids have an eight-digit domain; the devices' have four digits.
  constexpr std::size_t kShortLength = sizeof "0000:00:00.0" - 1;
  const std::size_t length = std::strlen(bus_id);
  const int ordinal =
      device_at_pci_bus_id(length > kShortLength ? bus_id + length - kShortLength : bus_id);
  if (ordinal < 0) return kInvalidArgument;
  *handle = handle_of(ordinal);
  return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Handle* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

int nvmlDeviceGetIndex(Handle handle, unsigned* index) {
  *index = static_cast<unsigned>(ordinal_of(handle));
  return kSuccess;
}

int nvmlDeviceGetCudaComputeCapability(Handle, int* major, int* minor) {
  *major = kComputeCapabilityMajor;
  *minor = kComputeCapabilityMinor;
  return kSuccess;
}

int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
  *status = 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(Handle, unsigned, int*) {
  return kNotSupported;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, unsigned, void*) {
  return kNotSupported;
}
int nvmlDeviceGetNvLinkRemotePciInfo(Handle, unsigned, void*) {
  return kNotSupported;
}
int nvmlDeviceGetNvLinkCapability(Handle, unsigned, int, unsigned*) {
  return kNotSupported;
}
int nvmlDeviceGetFieldValues(Handle, int, void*) {
  return kNotSupported;
}
int nvmlDeviceGetGpuFabricInfoV(Handle, void*) {
  return kNotSupported;
}
int nvmlDeviceGetPlatformInfo(Handle, void*) {
  return kNotSupported;
}

}  // extern "C"
