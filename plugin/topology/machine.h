// SPDX-License-Identifier: Apache-2.0
//
// One reading of the machine: its GPUs, their links, and the ports of its network adapters. Plain
// data, which the plugin fills and writes, and the analyzer reads. A value that is not known is
// absent.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_MACHINE_H
#define RINGSIDE_PLUGIN_TOPOLOGY_MACHINE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::topology {

/// Writes the address of a PCI device as sysfs does, with a domain of four digits at least: NVML's
/// "00000000:3B:00.0" is "0000:3b:00.0".
inline std::string sysfs_address(std::string_view bus_id) {
  constexpr std::size_t kDomainDigits = 4;
  const std::size_t colon = bus_id.find(':');
  std::size_t zeros = 0;
  while (colon != std::string_view::npos && colon > zeros + kDomainDigits && bus_id[zeros] == '0') {
    ++zeros;
  }
  std::string address(bus_id.substr(zeros));
  for (char& letter : address) {
    letter = letter >= 'A' && letter <= 'F' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return address;
}

/// The error counters of an NVLink, as NVML numbers them, and their names in a trace.
inline constexpr std::size_t kLinkCounters = 4;
inline constexpr std::array<std::string_view, kLinkCounters> kLinkCounterNames = {
    "replay", "recovery", "crc_flit", "crc_data"};

/// The device at the other end of an NVLink.
enum class Remote : std::uint8_t { kUnknown, kGpu, kSwitch, kOther };
/// The name of each in a trace; kUnknown is not written.
inline constexpr std::array<std::string_view, 4> kRemoteNames = {"", "gpu", "switch", "other"};

struct NvLink {
  std::uint32_t number = 0;
  std::optional<bool> is_up;
  std::optional<std::uint32_t> version;
  /// 10^6 bytes a second in one direction, as NVML gives it: the line's rate with its encoding.
  std::optional<std::uint64_t> speed_mbytes_s;
  Remote remote = Remote::kUnknown;
  std::string remote_pci;  ///< as Gpu::pci; empty if not known
  std::array<std::optional<std::uint64_t>, kLinkCounters> errors;

  bool operator==(const NvLink&) const = default;
};

struct Gpu {
  std::uint32_t index = 0;  ///< NVML's, which is not CUDA's
  std::string pci;          ///< as sysfs writes it: "0000:3b:00.0"
  std::string uuid, name;
  std::optional<std::uint32_t> pcie_generation, pcie_width;            ///< now
  std::optional<std::uint32_t> most_pcie_generation, most_pcie_width;  ///< of GPU and slot
  std::optional<std::int32_t> numa_node;
  /// Bridges from the root to the device, as sysfs has them: "pci0000:17/0000:17:01.0/0000:18:00.0"
  std::string pci_path;
  std::string fabric_cluster;  ///< UUID of the NVLink fabric that the GPU has joined; empty: none
  std::optional<std::uint32_t> fabric_clique;
  std::vector<NvLink> links;

  bool operator==(const Gpu&) const = default;
};

/// A port of an InfiniBand or RoCE adapter.
struct Port {
  std::string device;  ///< "mlx5_0"
  std::uint32_t number = 0;
  std::string pci, pci_path;  ///< as Gpu's
  std::optional<std::int32_t> numa_node;
  std::string link_layer;                    ///< "InfiniBand" or "Ethernet"
  std::string state;                         ///< "ACTIVE", "DOWN" and so on, as sysfs has it
  std::optional<std::uint64_t> rate_mbit_s;  ///< 10^6 bits a second
  std::map<std::string, std::uint64_t> counters;

  bool operator==(const Port&) const = default;
};

/// How the reading ended.
enum class State : std::uint8_t {
  kComplete,   ///< NVML has answered
  kFailed,     ///< NVML is not there, or refuses; what sysfs tells is there
  kUnfinished  ///< it has not ended so far: nothing is known
};
inline constexpr std::array<std::string_view, 3> kStateNames = {"complete", "failed", "unfinished"};

struct Machine {
  State state = State::kComplete;
  std::string reason = {};       ///< of a state that is not complete
  std::string driver = {};       ///< version of the GPUs' driver
  std::uint64_t took_ns = 0;     ///< of the reading, or since it began
  std::uint64_t nvml_ns = 0;     ///< that part of it in which NVML was asked
  std::vector<Gpu> gpus = {};    ///< in NVML's order
  std::vector<Port> ports = {};  ///< sorted by device and number
  std::uint32_t left_out = 0;    ///< GPUs and ports beyond the most that are read

  bool operator==(const Machine&) const = default;
};

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_MACHINE_H
