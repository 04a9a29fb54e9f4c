// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's management library, opened at run time. Its interface is declared here, so that no
// header of NVIDIA is needed; the layouts are those of its public header (CUDA 12 and 13).
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_NVML_H
#define RINGSIDE_PLUGIN_TOPOLOGY_NVML_H

#include <array>
#include <cstdint>
#include <string>

namespace ringside::topology {

/// NVML's functions: type of the result, name here, name in the library, arguments.
#define RINGSIDE_NVML_FUNCTIONS(FUNCTION)                                                        \
  FUNCTION(const char*, error_string, "nvmlErrorString", int)                                    \
  FUNCTION(int, system_driver_version, "nvmlSystemGetDriverVersion", char*, unsigned)            \
  FUNCTION(int, device_count, "nvmlDeviceGetCount_v2", unsigned*)                                \
  FUNCTION(int, device_by_index, "nvmlDeviceGetHandleByIndex_v2", unsigned, Device*)             \
  FUNCTION(int, pci_info, "nvmlDeviceGetPciInfo_v3", Device, PciInfo*)                           \
  FUNCTION(int, uuid, "nvmlDeviceGetUUID", Device, char*, unsigned)                              \
  FUNCTION(int, name, "nvmlDeviceGetName", Device, char*, unsigned)                              \
  FUNCTION(int, pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", Device, unsigned*)       \
  FUNCTION(int, pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", Device, unsigned*)                 \
  FUNCTION(int, max_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration", Device, unsigned*)    \
  FUNCTION(int, max_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth", Device, unsigned*)              \
  FUNCTION(int, field_values, "nvmlDeviceGetFieldValues", Device, int, FieldValue*)              \
  FUNCTION(int, fabric_info, "nvmlDeviceGetGpuFabricInfoV", Device, FabricInfo*)                 \
  FUNCTION(int, link_state, "nvmlDeviceGetNvLinkState", Device, unsigned, int*)                  \
  FUNCTION(int, link_version, "nvmlDeviceGetNvLinkVersion", Device, unsigned, unsigned*)         \
  FUNCTION(int, link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", Device, unsigned, int*) \
  FUNCTION(int, link_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2", Device, unsigned,        \
           PciInfo*)                                                                             \
  FUNCTION(int, link_errors, "nvmlDeviceGetNvLinkErrorCounter", Device, unsigned, int,           \
           unsigned long long*)

class Nvml {
 public:
  using Device = void*;
  static constexpr int kSuccess = 0;

  struct PciInfo {
    std::array<char, 16> bus_id_legacy;
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    std::array<char, 32> bus_id;
  };
  struct FieldValue {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    int result;
    union {
      double real;
      std::uint32_t integer;
      std::uint64_t wide;
    } value;
  };
  static constexpr unsigned kFieldSpeedOfAll = 90;   // MB/s of the links that are up
  static constexpr unsigned kFieldLinkCount = 91;    // links that the GPU has
  static constexpr unsigned kFieldSpeedOfOne = 164;  // MB/s; the scope is the link
  struct FabricInfo {
    unsigned version;
    std::array<unsigned char, 16> cluster_uuid;
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
  };
  static constexpr unsigned kFabricVersion = sizeof(FabricInfo) | (2U << 24U);
  static constexpr unsigned char kFabricCompleted = 3;
  static constexpr int kRemoteGpu = 0, kRemoteSwitch = 2;

  /// Opens the library and initialises it; `error` says why not. It stays open, since other parts
  /// of the process use it, too. The call may last, or never return: NVML waits for the driver.
  bool open(std::string& error);

  /// The text of an error number.
  std::string text_of(int result) const;

  // The library's functions. One that it lacks is NULL; the reader leaves that value unknown.
#define RINGSIDE_NVML_MEMBER(result, name, symbol, ...) result (*name)(__VA_ARGS__) = nullptr;
  RINGSIDE_NVML_FUNCTIONS(RINGSIDE_NVML_MEMBER)
#undef RINGSIDE_NVML_MEMBER
};

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_NVML_H
