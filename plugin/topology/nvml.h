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
  const char* (*error_string)(int) = nullptr;
  int (*system_driver_version)(char*, unsigned) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, Device*) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*compute_capability)(Device, int*, int*) = nullptr;
  int (*max_clock)(Device, int, unsigned*) = nullptr;
  int (*memory_bus_width)(Device, unsigned*) = nullptr;
  int (*pcie_generation)(Device, unsigned*) = nullptr;
  int (*pcie_width)(Device, unsigned*) = nullptr;
  int (*max_pcie_generation)(Device, unsigned*) = nullptr;
  int (*max_pcie_width)(Device, unsigned*) = nullptr;
  int (*field_values)(Device, int, FieldValue*) = nullptr;
  int (*fabric_info)(Device, FabricInfo*) = nullptr;
  int (*link_state)(Device, unsigned, int*) = nullptr;
  int (*link_version)(Device, unsigned, unsigned*) = nullptr;
  int (*link_remote_type)(Device, unsigned, int*) = nullptr;
  int (*link_remote_pci)(Device, unsigned, PciInfo*) = nullptr;
  int (*link_errors)(Device, unsigned, int, unsigned long long*) = nullptr;
};

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_NVML_H
