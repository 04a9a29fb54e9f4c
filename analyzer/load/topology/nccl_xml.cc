// SPDX-License-Identifier: Apache-2.0
//
// NCCL's own dump of its topology (NCCL_TOPO_DUMP_FILE), as NCCL 2.29.7 writes it: a system of
// CPUs, below them PCI switches (one node each), and below these GPUs with their NVLinks, and
// network adapters. CPUs of several hosts of one NVLink domain differ in host_hash. RCCL writes
// the same, with XGMI.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <pugixml.hpp>

#include "analyzer/load/json/parse_number.h"
#include "analyzer/load/topology/topology_file.h"
#include "analyzer/model/joined.h"
#include "analyzer/model/pci_distance.h"

namespace ringside::load {
namespace {

constexpr unsigned kMostLinks = 1000;
constexpr int kMostDepth = 64;
constexpr std::size_t kNamed = 8;  // of a list
constexpr std::size_t kBridgesOfSwitch = 1;

std::optional<unsigned> number_of(const pugi::xml_node& node, const char* name) {
  return parse_number<unsigned>(node.attribute(name).value());
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
  for (const pugi::xml_node& child : node.children()) {
    const std::string_view name = child.name();
    if (name != "nvlink" && name != "xgmi") {
      continue;
    }
    const std::string_view type = child.attribute("tclass").value();
    const auto count = number_of(child, "count");
    if (!count || *count > kMostLinks) {
      error = "an " + std::string(name) + " of GPU " + gpu.pci + " has no count that can be";
    }
    for (unsigned i = 0; i < std::min(count.value_or(0), kMostLinks); ++i) {
      topology::NvLink link;
      link.number = static_cast<std::uint32_t>(gpu.links.size());
      link.is_up = true;
      link.remote = type == kSwitchClass                         ? topology::Remote::kSwitch
                    : type.starts_with("0x03") || name == "xgmi" ? topology::Remote::kGpu
                                                                 : topology::Remote::kOther;
      link.remote_pci = topology::sysfs_address(child.attribute("target").value());
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

struct Found {
  model::TopologyHost& host;
  std::set<std::string>& sockets;  // names of interfaces
  std::set<unsigned>& ranks;
  std::string& error;
};

void add_gpu(const pugi::xml_node& node, const Place& place, const Found& found) {
  topology::Gpu gpu;
  gpu.index = number_of(node, "dev").value_or(0);
  gpu.pci = place.address;
  if (const auto part = number_of(node, "mlopart")) {
    gpu.pci += " part " + std::to_string(*part);  // a GPU that is divided: two ranks, one device
  }
  gpu.pci_path = place.path;
  gpu.numa_node = place.numa_node;
  gpu.pcie_generation = place.generation;
  gpu.pcie_width = place.width;
  add_links(node, gpu, found.error);
  const auto rank = number_of(node, "rank");
  if (rank && !found.ranks.insert(*rank).second) {
    found.error = "GPU " + gpu.pci + " and one before it are both of rank " + std::to_string(*rank);
  }
  found.host.labels.push_back(rank ? "rank " + std::to_string(*rank)
                                   : "GPU " + std::to_string(gpu.index));
  found.host.machine.gpus.push_back(std::move(gpu));
}

// The ports of InfiniBand and RoCE adapters begin with 1, and an interface for sockets has 0.
void add_ports(const pugi::xml_node& nic, const Place& place, topology::Machine& machine,
               std::set<std::string>& sockets) {
  for (const pugi::xml_node& net : nic.children("net")) {
    topology::Port port;
    port.device = net.attribute("name").value();
    const auto number = number_of(net, "port");
    if (number == 0U) {
      sockets.insert(port.device);
      continue;
    }
    port.number = number.value_or(0);
    port.pci = place.address;
    port.pci_path = place.path;
    port.numa_node = place.numa_node;
    port.rate_mbit_s = number_of(net, "speed");
    machine.ports.push_back(std::move(port));
  }
}

void read_below(const pugi::xml_node& parent, const Place& place, int depth, const Found& found) {
  for (const pugi::xml_node& node : parent.children()) {
    const std::string_view name = node.name();
    if (name == "gpu") {
      add_gpu(node, place, found);
    } else if (name == "nic") {
      add_ports(node, place, found.host.machine, found.sockets);
    } else if (name == "pci" && depth < kMostDepth) {
      Place below = place;
      below.address = topology::sysfs_address(node.attribute("busid").value());
      below.path += '/' + below.address;
      below.generation = generation_of(node);
      below.width = number_of(node, "link_width");
      below.width = below.width == 0U ? std::nullopt : below.width;  // NCCL could not read it
      read_below(node, below, depth + 1, found);
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

std::optional<model::TopologyFile> read_nccl_xml(std::string_view text, std::string& error) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    error = std::string("it is no XML: ") + parsed.description() + " at byte " +
            std::to_string(parsed.offset);
    return std::nullopt;
  }
  model::TopologyFile file;
  file.source = "NCCL's topology dump";
  std::set<std::string> sockets;
  std::set<unsigned> ranks;
  const pugi::xml_node system = document.child("system");
  if (system.next_sibling("system")) {
    error = "it has several dumps, one behind the other: give a file of each";
    return std::nullopt;
  }
  for (const pugi::xml_node& cpu : system.children("cpu")) {
    Place place;
    place.path = std::string("cpu") + cpu.attribute("numaid").value();
    place.numa_node = number_of(cpu, "numaid");
    const std::string name = std::string("host ") + cpu.attribute("host_hash").value();
    auto host = std::find_if(file.hosts.begin(), file.hosts.end(),
                             [&](const model::TopologyHost& one) { return one.name == name; });
    if (host == file.hosts.end()) {
      host = file.hosts.insert(host, model::TopologyHost());
      host->name = name;
    }
    read_below(cpu, place, 0, {*host, sockets, ranks, error});
  }
  std::erase_if(file.hosts, [](const auto& host) { return host.machine.gpus.empty(); });
  if (!error.empty()) {
    return std::nullopt;
  }
  if (file.hosts.empty()) {
    error = system.child("cpu").child("pci")
                ? "it has no GPU below system, cpu and pci: it is what NCCL was given "
                  "(NCCL_TOPO_FILE), not what NCCL found; run with NCCL_TOPO_DUMP_FILE, and give "
                  "that file"
                : "it has no GPU below system, cpu and pci";
    return std::nullopt;
  }
  file.link = system.find_node([](const auto& node) { return node.name() == std::string("xgmi"); })
                  ? "XGMI link"
                  : file.link;
  for (model::TopologyHost& host : file.hosts) {
    know_gpus(host.machine);
    for (topology::Gpu& gpu : host.machine.gpus) {
      // NCCL joins hosts in one dump only if they are of one clique of an NVLink fabric.
      gpu.fabric_cluster = file.hosts.size() > 1 ? "of NCCL's topology dump" : "";
      auto& adapters = host.adapters.emplace_back();
      for (const topology::Port& port : host.machine.ports) {
        adapters[model::pci_distance(gpu, port, kBridgesOfSwitch)].push_back(port.device);
      }
    }
  }
  if (!sockets.empty()) {
    file.notes.push_back("interfaces for sockets are no adapters, and left out: " +
                         model::joined(sockets, kNamed));
  }
  return file;
}

}  // namespace ringside::load
