// SPDX-License-Identifier: Apache-2.0
#include "plugin/topology/nvml.h"

#include <dlfcn.h>
#include <type_traits>

namespace ringside::topology {

bool Nvml::open(std::string& error) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    error = "libnvidia-ml.so.1 cannot be loaded";
    return false;
  }
  const auto find = [library](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
  };
  find(error_string, "nvmlErrorString");
  find(system_driver_version, "nvmlSystemGetDriverVersion");
  find(device_count, "nvmlDeviceGetCount_v2");
  find(device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  find(pci_info, "nvmlDeviceGetPciInfo_v3");
  find(uuid, "nvmlDeviceGetUUID");
  find(name, "nvmlDeviceGetName");
  find(compute_capability, "nvmlDeviceGetCudaComputeCapability");
  find(max_clock, "nvmlDeviceGetMaxClockInfo");
  find(memory_bus_width, "nvmlDeviceGetMemoryBusWidth");
  find(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(max_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  find(max_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
  find(field_values, "nvmlDeviceGetFieldValues");
  find(fabric_info, "nvmlDeviceGetGpuFabricInfoV");
  find(link_state, "nvmlDeviceGetNvLinkState");
  find(link_version, "nvmlDeviceGetNvLinkVersion");
  find(link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  find(link_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  find(link_errors, "nvmlDeviceGetNvLinkErrorCounter");
  int (*init)() = nullptr;
  find(init, "nvmlInit_v2");
  if (init == nullptr || device_count == nullptr || device_by_index == nullptr) {
    error = "libnvidia-ml.so.1 lacks functions of NVML";
    return false;
  }
  if (const int result = init(); result != kSuccess) {
    error = "NVML: " + text_of(result);
    return false;
  }
  return true;
}

std::string Nvml::text_of(int result) const {
  const char* const text = error_string != nullptr ? error_string(result) : nullptr;
  return text != nullptr ? text : "error " + std::to_string(result);
}

}  // namespace ringside::topology
