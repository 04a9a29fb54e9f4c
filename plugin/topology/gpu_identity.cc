// SPDX-License-Identifier: Apache-2.0
#include "plugin/topology/gpu_identity.h"

#include <dlfcn.h>

namespace ringside::topology {
namespace {

// The functions of the CUDA driver that are needed here. CUresult and CUdevice are ints.
using CtxGetDevice = int (*)(int* device);
using DeviceGetUuid = int (*)(unsigned char* uuid, int device);
using DeviceGetPciBusId = int (*)(char* text, int length, int device);

template <typename Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::optional<GpuIdentity> current_gpu() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (driver == nullptr) {
    return std::nullopt;
  }
  std::optional<GpuIdentity> found;
  const auto get_device = find<CtxGetDevice>(driver, "cuCtxGetDevice");
  int device = -1;
  if (get_device != nullptr && get_device(&device) == 0) {
    found = GpuIdentity{};
    found->index = device;
    // Of an instance of a divided GPU (MIG) the older function gives the GPU's UUID, the newer one
    // the instance's.
    std::array<unsigned char, 16> uuid{};
    std::array<unsigned char, 16> of_gpu{};
    const auto get_of_gpu = find<DeviceGetUuid>(driver, "cuDeviceGetUuid");
    const auto newer = find<DeviceGetUuid>(driver, "cuDeviceGetUuid_v2");
    const auto get_uuid = newer != nullptr ? newer : get_of_gpu;
    if (get_uuid != nullptr && get_uuid(uuid.data(), device) == 0) {
      const bool is_instance =
          get_of_gpu != nullptr && get_of_gpu(of_gpu.data(), device) == 0 && of_gpu != uuid;
      found->uuid = (is_instance ? "MIG-" : "GPU-") + uuid_text(uuid);
    }
    std::array<char, 32> pci{};
    const auto get_pci = find<DeviceGetPciBusId>(driver, "cuDeviceGetPCIBusId");
    if (get_pci != nullptr && get_pci(pci.data(), static_cast<int>(pci.size()), device) == 0) {
      found->pci = pci.data();
    }
  }
  dlclose(driver);
  return found;
}

}  // namespace ringside::topology
