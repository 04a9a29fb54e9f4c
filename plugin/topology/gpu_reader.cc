// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "plugin/topology/gpu_identity.h"
#include "plugin/topology/readers.h"

namespace ringside::topology {
namespace {

// More than any machine has. They bound the time, and the trace's first lines.
constexpr unsigned kMostGpus = 64;
constexpr unsigned kMostLinks = 36;

template <std::size_t Length>
std::string text_in(const std::array<char, Length>& bytes) {
  return {bytes.data(), strnlen(bytes.data(), Length)};
}

// Asks the function. Nothing: it is missing, or the GPU does not know.
template <typename Value, typename Function, typename... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != Nvml::kSuccess) {
    return std::nullopt;
  }
  return value;
}

std::string ask_text(int (*function)(Nvml::Device, char*, unsigned), Nvml::Device device) {
  std::array<char, 96> text{};
  const bool is_told =
      function != nullptr && function(device, text.data(), static_cast<unsigned>(text.size())) == 0;
  return is_told ? text_in(text) : std::string();
}

std::optional<std::uint32_t> ask_field(const Nvml& nvml, Nvml::Device device, unsigned field,
                                       unsigned scope = 0) {
  Nvml::FieldValue value{};
  value.field = field;
  value.scope = scope;
  value.result = -1;
  if (nvml.field_values == nullptr || nvml.field_values(device, 1, &value) != Nvml::kSuccess ||
      value.result != Nvml::kSuccess) {
    return std::nullopt;
  }
  return value.value.integer;
}

void read_fabric(const Nvml& nvml, Nvml::Device device, Gpu& gpu) {
  Nvml::FabricInfo fabric{};
  fabric.version = Nvml::kFabricVersion;
  const std::array<unsigned char, 16> none{};
  if (nvml.fabric_info == nullptr || nvml.fabric_info(device, &fabric) != Nvml::kSuccess ||
      fabric.state != Nvml::kFabricCompleted || fabric.status != Nvml::kSuccess ||
      fabric.cluster_uuid == none) {
    return;  // the GPU belongs to no fabric over several hosts
  }
  gpu.fabric_cluster = uuid_text(fabric.cluster_uuid);
  gpu.fabric_clique = fabric.clique;
}

void read_remote(const Nvml& nvml, Nvml::Device device, NvLink& link) {
  if (const auto type = ask<int>(nvml.link_remote_type, device, link.number)) {
    link.remote = *type == Nvml::kRemoteGpu      ? Remote::kGpu
                  : *type == Nvml::kRemoteSwitch ? Remote::kSwitch
                                                 : Remote::kOther;
  }
  if (const auto pci = ask<Nvml::PciInfo>(nvml.link_remote_pci, device, link.number)) {
    link.remote_pci = sysfs_address(text_in(pci->bus_id));
  }
}

// A link that is down, or of which NVML knows nothing, does not end the loop. Only where the GPU
// does not say how many it has are links without a state not taken for links.
void read_links(const Nvml& nvml, Nvml::Device device, const std::atomic<bool>& stop, Gpu& gpu) {
  const auto count = ask_field(nvml, device, Nvml::kFieldLinkCount);
  const auto common_speed = ask_field(nvml, device, Nvml::kFieldSpeedOfAll);
  const unsigned most = count ? std::min<unsigned>(*count, kMostLinks) : kMostLinks;
  for (unsigned number = 0; number < most && !stop.load(std::memory_order_relaxed); ++number) {
    NvLink link;
    link.number = number;
    if (const auto state = ask<int>(nvml.link_state, device, number)) {
      link.is_up = *state == 1;
    } else if (!count) {
      continue;
    }
    link.version = ask<unsigned>(nvml.link_version, device, number);
    read_remote(nvml, device, link);
    if (link.is_up == true) {
      const auto own_speed = ask_field(nvml, device, Nvml::kFieldSpeedOfOne, number);
      const auto speed = own_speed && *own_speed != 0 ? own_speed : common_speed;
      if (speed && *speed != 0) {
        link.speed_mbytes_s = *speed;
      }
    }
    for (std::size_t counter = 0; counter < kLinkCounters; ++counter) {
      link.errors[counter] =
          ask<unsigned long long>(nvml.link_errors, device, number, static_cast<int>(counter));
    }
    gpu.links.push_back(std::move(link));
  }
}

Gpu read_gpu(const Nvml& nvml, Nvml::Device device, const std::atomic<bool>& stop) {
  Gpu gpu;
  if (const auto pci = ask<Nvml::PciInfo>(nvml.pci_info, device)) {
    gpu.pci = sysfs_address(text_in(pci->bus_id));
  }
  gpu.uuid = ask_text(nvml.uuid, device);
  gpu.name = ask_text(nvml.name, device);
  gpu.pcie_generation = ask<unsigned>(nvml.pcie_generation, device);
  gpu.pcie_width = ask<unsigned>(nvml.pcie_width, device);
  gpu.most_pcie_generation = ask<unsigned>(nvml.max_pcie_generation, device);
  gpu.most_pcie_width = ask<unsigned>(nvml.max_pcie_width, device);
  read_fabric(nvml, device, gpu);
  read_links(nvml, device, stop, gpu);
  return gpu;
}

}  // namespace

void read_gpus(const Nvml& nvml, const std::atomic<bool>& stop, Machine& machine) {
  std::array<char, 96> driver{};
  if (nvml.system_driver_version != nullptr &&
      nvml.system_driver_version(driver.data(), static_cast<unsigned>(driver.size())) == 0) {
    machine.driver = text_in(driver);
  }
  unsigned count = 0;
  if (const int result = nvml.device_count(&count); result != Nvml::kSuccess) {
    machine.state = State::kFailed;
    machine.reason = "NVML: " + nvml.text_of(result);
    return;
  }
  for (unsigned index = 0; index < std::min(count, kMostGpus); ++index) {
    Nvml::Device device = nullptr;
    if (nvml.device_by_index(index, &device) == Nvml::kSuccess) {
      machine.gpus.push_back(read_gpu(nvml, device, stop));
      machine.gpus.back().index = index;
    }
    if (stop.load(std::memory_order_relaxed)) {
      machine.state = State::kUnfinished;
      machine.reason = "the process ends";
      return;
    }
  }
  machine.left_out += count - std::min(count, kMostGpus);
}

}  // namespace ringside::topology
