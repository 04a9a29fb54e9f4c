// SPDX-License-Identifier: Apache-2.0
//
// NCCL's own dump of its topology (NCCL_TOPO_DUMP_FILE), as NCCL 2.29.7 writes it: a system of
// CPUs, below them PCI bridges, and below these GPUs with their NVLinks, and network adapters.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <pugixml.hpp>

#include "analyzer/load/topology_file.h"

namespace ringside::load {
namespace {

constexpr unsigned kMostLinks = 1000;
constexpr int kMostDepth = 64;

std::optional<unsigned> number_of(const pugi::xml_node& node, const char* name) {
  const char* const text = node.attribute(name).value();
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && *end == '\0' ? std::optional(number) : std::nullopt;
}

// "16.0 GT/s PCIe" is generation 4.
std::optional<std::uint32_t> generation_of(const pugi::xml_node& pci) {
  constexpr std::array<double, 6> kSpeeds = {2.5, 5, 8, 16, 32, 64};
  const double speed = pci.attribute("link_speed").as_double();
  const auto* const found = std::find_if(
      kSpeeds.begin(), kSpeeds.end(), [&](double known) { return std::abs(known - speed) < 0.01; });
  return found == kSpeeds.end()
             ? std::nullopt
             : std::optional(static_cast<std::uint32_t>(found - kSpeeds.begin()) + 1);
}

void add_links(const pugi::xml_node& node, topology::Gpu& gpu, std::string& error) {
  constexpr std::string_view kSwitchClass = "0x068000";
  for (const pugi::xml_node& nvlink : node.children("nvlink")) {
    const std::string_view type = nvlink.attribute("tclass").value();
    const auto count = number_of(nvlink, "count");
    if (!count || *count > kMostLinks) {
      error = "an nvlink of GPU " + gpu.pci + " has no count that can be";
    }
    for (unsigned i = 0; i < std::min(count.value_or(0), kMostLinks); ++i) {
      topology::NvLink link;
      link.number = static_cast<std::uint32_t>(gpu.links.size());
      link.is_up = true;
      link.remote = type == kSwitchClass       ? topology::Remote::kSwitch
                    : type.starts_with("0x03") ? topology::Remote::kGpu
                                               : topology::Remote::kOther;
      link.remote_pci = topology::sysfs_address(nvlink.attribute("target").value());
      gpu.links.push_back(std::move(link));
    }
  }
}

struct Place {
  std::string path;  // of PCI
  std::string address;
  std::optional<std::uint32_t> generation, width;
  std::optional<std::int32_t> numa_node;
};

void add_gpu(const pugi::xml_node& node, const Place& place, TopologyFile& file,
             std::string& error) {
  topology::Gpu gpu;
  gpu.index = number_of(node, "dev").value_or(0);
  gpu.pci = place.address;
  gpu.pci_path = place.path;
  gpu.numa_node = place.numa_node;
  gpu.pcie_generation = place.generation;
  gpu.pcie_width = place.width;
  if (const auto compute = number_of(node, "sm")) {
    gpu.compute_major = static_cast<std::int32_t>(*compute / 10);
    gpu.compute_minor = static_cast<std::int32_t>(*compute % 10);
  }
  add_links(node, gpu, error);
  const auto rank = number_of(node, "rank");
  file.labels.push_back(rank ? "rank " + std::to_string(*rank)
                             : "GPU " + std::to_string(gpu.index));
  file.machine.gpus.push_back(std::move(gpu));
}

void add_ports(const pugi::xml_node& nic, const Place& place, TopologyFile& file) {
  for (const pugi::xml_node& net : nic.children("net")) {
    topology::Port port;
    port.device = net.attribute("name").value();
    port.number = number_of(net, "port").value_or(0);
    if (port.number == 0 && std::string_view(net.attribute("guid").value()) == "0x0") {
      continue;  // an interface for sockets: ports of adapters begin with 1
    }
    port.pci = place.address;
    port.pci_path = place.path;
    port.numa_node = place.numa_node;
    if (const auto speed = number_of(net, "speed")) {
      port.rate_mbit_s = *speed;
    }
    file.machine.ports.push_back(std::move(port));
  }
}

void read_below(const pugi::xml_node& parent, const Place& place, int depth, TopologyFile& file,
                std::string& error) {
  for (const pugi::xml_node& node : parent.children()) {
    const std::string_view name = node.name();
    if (name == "gpu") {
      add_gpu(node, place, file, error);
    } else if (name == "nic") {
      add_ports(node, place, file);
    } else if (name == "pci" && depth < kMostDepth) {
      Place below = place;
      below.address = topology::sysfs_address(node.attribute("busid").value());
      below.path += '/' + below.address;
      below.generation = generation_of(node);
      below.width = number_of(node, "link_width");
      read_below(node, below, depth + 1, file, error);
    }
  }
}

// NCCL writes the class of a switch where it cannot read the class of the device at the other end:
// a container or a virtual machine may hide it. A GPU of the same dump is one all the same.
void know_gpus(topology::Machine& machine) {
  std::set<std::string, std::less<>> addresses;
  for (const topology::Gpu& gpu : machine.gpus) {
    addresses.insert(gpu.pci);
  }
  for (topology::Gpu& gpu : machine.gpus) {
    for (topology::NvLink& link : gpu.links) {
      if (addresses.contains(link.remote_pci)) {
        link.remote = topology::Remote::kGpu;
      }
    }
  }
}

}  // namespace

std::optional<TopologyFile> read_nccl_xml(std::string_view text, std::string& error) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    error = std::string("it is no XML: ") + parsed.description() + " at byte " +
            std::to_string(parsed.offset);
    return std::nullopt;
  }
  TopologyFile file;
  file.source = "NCCL's topology dump";
  for (const pugi::xml_node& cpu : document.child("system").children("cpu")) {
    Place place;
    const char* const node = cpu.attribute("numaid").value();
    place.path = std::string("cpu") + node;
    if (const auto number = number_of(cpu, "numaid")) {
      place.numa_node = static_cast<std::int32_t>(*number);
    }
    read_below(cpu, place, 0, file, error);
  }
  if (!error.empty()) {
    return std::nullopt;
  }
  if (file.machine.gpus.empty()) {
    error = "it has no GPU below system, cpu and pci";
    return std::nullopt;
  }
  know_gpus(file.machine);
  return file;
}

}  // namespace ringside::load
