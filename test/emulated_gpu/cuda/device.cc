// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstdio>
#include <strings.h>
#include <vector>

#include "log.h"

namespace emugpu {
namespace {

constexpr int kMaxDevices = 14;  // one PCI bus number each, 0x18 to 0xe8

Device make_device(int ordinal) {
  Device result;
  result.ordinal = ordinal;
  result.pci_bus = 0x18 + ordinal * 0x10;
  result.name = "Emulated GPU " + std::to_string(ordinal);
  char bus_id[16];
  std::snprintf(bus_id, sizeof bus_id, "0000:%02x:00.0",
                static_cast<unsigned char>(result.pci_bus));
  result.pci_bus_id = bus_id;
  for (std::size_t i = 0; i < result.uuid.size(); ++i) {
    result.uuid[i] = static_cast<unsigned char>(0xe0 + 7 * i + static_cast<std::size_t>(ordinal));
  }
  return result;
}

// Never destroyed: threads of the process may still ask while it exits.
const std::vector<Device>& devices() {
  static const auto* const all = [] {
    auto* result = new std::vector<Device>;
    const long count = std::clamp(environment_number("EMUGPU_DEVICES", 8), 1L, long{kMaxDevices});
    for (int ordinal = 0; ordinal < count; ++ordinal) result->push_back(make_device(ordinal));
    return result;
  }();
  return *all;
}

thread_local int current = 0;

}  // namespace

int device_count() {
  return static_cast<int>(devices().size());
}

bool is_device(int ordinal) {
  return ordinal >= 0 && ordinal < device_count();
}

const Device& device(int ordinal) {
  return devices()[static_cast<std::size_t>(ordinal)];
}

int device_at_pci_bus_id(const char* bus_id) {
  for (const Device& candidate : devices()) {
    if (strcasecmp(bus_id, candidate.pci_bus_id.c_str()) == 0) return candidate.ordinal;
  }
  return -1;
}

int current_device() {
  return current;
}

bool set_current_device(int ordinal) {
  if (!is_device(ordinal)) return false;
  current = ordinal;
  return true;
}

}  // namespace emugpu
