// SPDX-License-Identifier: Apache-2.0
//
// The emulated devices: all alike, Hopper-class, each behind its own PCI root port.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace emugpu {

struct Device {
  int ordinal = 0;
  int pci_bus = 0;
  std::string name;
  std::string pci_bus_id;
  std::array<unsigned char, 16> uuid{};
};

// Every device reports these about itself.
inline constexpr int kComputeCapabilityMajor = 9;
inline constexpr int kComputeCapabilityMinor = 0;
inline constexpr int kMultiprocessorCount = 132;
inline constexpr int kWarpSize = 32;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kSharedMemoryPerBlock = 48 * 1024;
inline constexpr int kSharedMemoryPerBlockOptin = 227 * 1024;
inline constexpr std::size_t kTotalMemory = std::size_t{80} << 30;
inline constexpr int kClockKhz = 1'980'000;
inline constexpr int kDriverVersion = 13000;

// EMUGPU_DEVICES devices, 8 by default.
int device_count();
bool is_device(int ordinal);
const Device& device(int ordinal);

// The ordinal whose PCI bus id is this one, or -1.
int device_at_pci_bus_id(const char* bus_id);

// As in CUDA, each thread has its own current device.
int current_device();
bool set_current_device(int ordinal);

}  // namespace emugpu
