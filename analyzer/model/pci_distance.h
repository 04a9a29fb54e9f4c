// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_PCI_DISTANCE_H
#define RINGSIDE_ANALYZER_MODEL_PCI_DISTANCE_H

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/topology/machine.h"

namespace ringside::model {

/// The place where a GPU and an adapter meet, in the words of `nvidia-smi topo`: PIX (one PCIe
/// switch at most), PXB (several), PHB (the CPU's host bridge), NODE (its NUMA node), SYS (another
/// node). Empty if the paths are not known. `bridges_of_switch`: how many parts of a path are one
/// switch. Linux has its upstream bridge, and below it a bridge for each device.
inline std::string pci_distance(const topology::Gpu& gpu, const topology::Port& port,
                                std::size_t bridges_of_switch = 2) {
  const auto parts_of = [](std::string_view path) {
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= path.size(); at += parts.back().size() + 1) {
      parts.push_back(path.substr(at, path.find('/', at) - at));
    }
    return parts;
  };
  if (gpu.pci_path.empty() || port.pci_path.empty()) {
    return {};
  }
  const std::vector<std::string_view> one = parts_of(gpu.pci_path);
  const std::vector<std::string_view> other = parts_of(port.pci_path);
  const auto common = static_cast<std::size_t>(
      std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first - one.begin());
  if (common == 0) {
    if (!gpu.numa_node || !port.numa_node) {
      return {};
    }
    return gpu.numa_node == port.numa_node ? "NODE" : "SYS";
  }
  return common == 1 ? "PHB"
         : common + bridges_of_switch >= one.size() && common + bridges_of_switch >= other.size()
             ? "PIX"
             : "PXB";
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PCI_DISTANCE_H
