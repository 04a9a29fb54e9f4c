// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: the entry points whose signature or name differs between CUDA 12, for which
// Debian's archive is compiled, and newer headers. Opaque pointers keep this file independent of
// the release of the headers, which it therefore does not include.
#include <cstddef>
#include <cstring>

#include "device.h"

using namespace emugpu;

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidDevice = 101;
constexpr int kNotSupported = 801;

// The head of CUDA 12's cudaDeviceProp, and its full size.
struct DevicePropertiesHead {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_device_node_mask;
  std::size_t total_global_memory;
};
constexpr std::size_t kDevicePropertiesSize = 1032;

}  // namespace

extern "C" {

int cudaGetDeviceProperties_v2(void* properties, int ordinal) {
  if (!is_device(ordinal)) return kInvalidDevice;
  const Device& source = device(ordinal);
  std::memset(properties, 0, kDevicePropertiesSize);
  auto* const head = static_cast<DevicePropertiesHead*>(properties);
  source.name.copy(head->name, sizeof head->name - 1);
  std::memcpy(head->uuid, source.uuid.data(), sizeof head->uuid);
  head->total_global_memory = kTotalMemory;
  return kSuccess;
}

int cudaStreamGetCaptureInfo_v2(void*, int*, unsigned long long*, void**, const void**,
                                std::size_t*);  // runtime_capture.cc

int cudaStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* id, void** graph,
                                const void** dependencies, void** edges, std::size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

// Dependencies are not kept (graph.h).

int cudaStreamUpdateCaptureDependencies(void*, void*, std::size_t, unsigned) {
  return kSuccess;
}

int cudaStreamUpdateCaptureDependencies_v2(void*, void*, const void*, std::size_t, unsigned) {
  return kSuccess;
}

int cudaGraphAddDependencies(void*, const void*, const void*, std::size_t) {
  return kSuccess;
}

int cudaGraphAddDependencies_v2(void*, const void*, const void*, const void*, std::size_t) {
  return kSuccess;
}

// Called by code that nvcc generates for a module and for kernel<<<...>>> launches.

char __cudaInitModule(void**) {
  return 1;
}

int __cudaPopCallConfiguration(void*, void*, std::size_t*, void*) {
  return kNotSupported;
}

}  // extern "C"
