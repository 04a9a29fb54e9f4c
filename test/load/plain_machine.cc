// SPDX-License-Identifier: Apache-2.0
#include "test/load/plain_machine.h"

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace ringside::plain {
namespace {

using topology::Gpu;
using topology::Machine;
using topology::NvLink;
using topology::Port;

bool read_link(const Members& members, NvLink& link) {
  std::string remote;
  if (!take(members, "link", link.number) || !take(members, "up", link.is_up) ||
      !take(members, "version", link.version) ||
      !take(members, "speed_mbytes_s", link.speed_mbytes_s) ||
      !take(members, "remote_pci", link.remote_pci) || !take(members, "remote", remote) ||
      !take(members, "replay", link.errors[0]) || !take(members, "recovery", link.errors[1]) ||
      !take(members, "crc_flit", link.errors[2]) || !take(members, "crc_data", link.errors[3])) {
    return false;
  }
  link.remote = remote == "gpu"      ? topology::Remote::kGpu
                : remote == "switch" ? topology::Remote::kSwitch
                : remote == "other"  ? topology::Remote::kOther
                                     : topology::Remote::kUnknown;
  return true;
}

bool read_links(const Members& args, std::vector<NvLink>& links) {
  for (const Member& member : args) {
    if (member.key != "links") {
      continue;
    }
    const auto elements = elements_of(member.value);
    if (!elements) {
      return false;
    }
    for (const std::string& element : *elements) {
      const auto members = members_of(element);
      if (!members || !read_link(*members, links.emplace_back())) {
        return false;
      }
    }
  }
  return true;
}

// An integer or, of up to 64 bits, "0x...".
std::optional<std::uint64_t> counter_of(std::string_view value) {
  const auto text = text_of(value);
  if (!text) {
    return value_of<std::uint64_t>(value);
  }
  if (!text->starts_with("0x") || text->size() == 2) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (const char character : text->substr(2)) {
    const auto digit = digits_of(std::string_view(&character, 1), 16);
    if (!digit || number > std::numeric_limits<std::uint64_t>::max() / 16) {
      return std::nullopt;
    }
    number = number * 16 + static_cast<std::uint64_t>(*digit);
  }
  return number;
}

bool read_counters(const Members& args, Port& port) {
  for (const Member& member : args) {
    if (member.key != "counters") {
      continue;
    }
    const auto counters = members_of(member.value);
    if (!counters) {
      return false;
    }
    for (const Member& counter : *counters) {
      const auto number = counter_of(counter.value);
      if (!number) {
        return false;
      }
      port.counters[counter.key] = *number;
    }
  }
  return true;
}

bool read_gpu(const Members& args, Gpu& gpu) {
  return take(args, "index", gpu.index) && take(args, "pci", gpu.pci) &&
         take(args, "uuid", gpu.uuid) && take(args, "name", gpu.name) &&
         take(args, "pcie_generation", gpu.pcie_generation) &&
         take(args, "pcie_width", gpu.pcie_width) &&
         take(args, "most_pcie_generation", gpu.most_pcie_generation) &&
         take(args, "most_pcie_width", gpu.most_pcie_width) &&
         take(args, "numa_node", gpu.numa_node) && take(args, "pci_path", gpu.pci_path) &&
         take(args, "fabric_cluster", gpu.fabric_cluster) &&
         take(args, "fabric_clique", gpu.fabric_clique) && read_links(args, gpu.links);
}

bool read_port(const Members& args, Port& port) {
  return take(args, "device", port.device) && take(args, "port", port.number) &&
         take(args, "pci", port.pci) && take(args, "pci_path", port.pci_path) &&
         take(args, "numa_node", port.numa_node) && take(args, "link_layer", port.link_layer) &&
         take(args, "state", port.state) && take(args, "rate_mbit_s", port.rate_mbit_s) &&
         read_counters(args, port);
}

bool read_head(const Members& args, Machine& head) {
  std::string state;
  if (!take(args, "state", state) || !take(args, "reason", head.reason) ||
      !take(args, "driver", head.driver) || !take(args, "took_ns", head.took_ns) ||
      !take(args, "nvml_ns", head.nvml_ns) || !take(args, "left_out", head.left_out)) {
    return false;
  }
  head.state = state == "failed"       ? topology::State::kFailed
               : state == "unfinished" ? topology::State::kUnfinished
                                       : topology::State::kComplete;
  return state == "complete" || head.state != topology::State::kComplete;
}

void put(const Gpu& gpu, Machine& machine) {
  for (Gpu& known : machine.gpus) {
    if (known.index == gpu.index) {
      known = gpu;
      return;
    }
  }
  machine.gpus.push_back(gpu);
}

void put(const Port& port, Machine& machine) {
  for (Port& known : machine.ports) {
    if (known.device == port.device && known.number == port.number) {
      known = port;
      return;
    }
  }
  machine.ports.push_back(port);
}

}  // namespace

bool is_of_machine(const std::string& name) {
  return name == "ringside_topology" || name == "ringside_gpu" || name == "ringside_port";
}

bool read_machine(const std::string& name, const Members& args, model::TraceFile& file) {
  std::optional<std::int64_t> ts_ns;
  Machine head;
  Gpu gpu;
  Port port;
  const bool is_good = name == "ringside_topology" ? read_head(args, head)
                       : name == "ringside_gpu"    ? read_gpu(args, gpu)
                                                   : read_port(args, port);
  if (!is_good || !take(args, "ts_ns", ts_ns) || !ts_ns) {
    return false;
  }
  Machine& machine = file.machines[*ts_ns];
  if (name == "ringside_gpu") {
    put(gpu, machine);
  } else if (name == "ringside_port") {
    put(port, machine);
  } else {
    head.gpus = machine.gpus;
    head.ports = machine.ports;
    machine = head;
  }
  return true;
}

void join_machine(const Machine& next, Machine& whole) {
  for (const Gpu& gpu : next.gpus) {
    put(gpu, whole);
  }
  for (const Port& port : next.ports) {
    put(port, whole);
  }
}

}  // namespace ringside::plain
