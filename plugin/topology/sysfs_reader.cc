// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "plugin/topology/readers.h"

namespace ringside::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPorts = 64;

// Counters of trouble, and what was moved. An adapter has some of them.
constexpr std::array kCounters = {
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/link_downed",
    "counters/port_rcv_errors",
    "counters/port_rcv_remote_physical_errors",
    "counters/port_xmit_discards",
    "counters/port_xmit_wait",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "counters/port_xmit_data",
    "counters/port_rcv_data",
    "hw_counters/out_of_sequence",
    "hw_counters/packet_seq_err",
    "hw_counters/local_ack_timeout_err",
    "hw_counters/rnr_nak_retry_err",
    "hw_counters/roce_adp_retrans",
    "hw_counters/np_cnp_sent",
    "hw_counters/rp_cnp_handled",
};

// The first line of a file; empty if there is none.
std::string line_of(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

template <typename Integer>
std::optional<Integer> integer_of(const fs::path& path) {
  const std::string line = line_of(path);
  Integer value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// A device that belongs to no node has -1 in sysfs.
std::optional<std::int32_t> numa_node_of(const fs::path& device) {
  const auto node = integer_of<std::int32_t>(device / "numa_node");
  return node && *node >= 0 ? node : std::nullopt;
}

// The part of the device's real path below "devices/".
std::string pci_path_of(const fs::path& device) {
  std::error_code error;
  const std::string real = fs::canonical(device, error).string();
  constexpr std::string_view kDevices = "/devices/";
  const std::size_t at = real.find(kDevices);
  return error || at == std::string::npos ? std::string() : real.substr(at + kDevices.size());
}

// "400 Gb/sec (4X NDR)" is 400,000 Mbit/s.
std::optional<std::uint64_t> rate_of(const fs::path& path) {
  const std::string line = line_of(path);
  double gbit_s = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), gbit_s);
  if (error != std::errc() || !(gbit_s > 0) || gbit_s > 1e6 ||
      !std::string_view(end).starts_with(" Gb/sec")) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(gbit_s * 1000 + 0.5);
}

// "4: ACTIVE" is ACTIVE.
std::string state_of(const fs::path& path) {
  const std::string line = line_of(path);
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

Port read_port(const fs::path& adapter, const fs::path& place, std::uint32_t number) {
  Port port;
  port.device = adapter.filename().string();
  port.number = number;
  port.pci_path = pci_path_of(adapter / "device");
  port.pci = fs::path(port.pci_path).filename().string();
  port.numa_node = numa_node_of(adapter / "device");
  port.link_layer = line_of(place / "link_layer");
  port.state = state_of(place / "state");
  port.rate_mbit_s = rate_of(place / "rate");
  for (const char* const counter : kCounters) {
    if (const auto value = integer_of<std::uint64_t>(place / counter)) {
      port.counters.emplace(fs::path(counter).filename().string(), *value);
    }
  }
  return port;
}

}  // namespace

void read_places(const std::string& root, Machine& machine) {
  for (Gpu& gpu : machine.gpus) {
    if (!gpu.pci.empty()) {
      const fs::path device = fs::path(root) / "bus/pci/devices" / gpu.pci;
      gpu.pci_path = pci_path_of(device);
      gpu.numa_node = numa_node_of(device);
    }
  }
}

void read_ports(const std::string& root, Machine& machine) {
  for (const fs::path& adapter : entries_of(fs::path(root) / "class/infiniband")) {
    for (const fs::path& place : entries_of(adapter / "ports")) {
      const std::string name = place.filename().string();
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (error != std::errc() || end != name.data() + name.size()) {
        continue;
      }
      if (machine.ports.size() == kMostPorts) {
        ++machine.left_out;
      } else {
        machine.ports.push_back(read_port(adapter, place, number));
      }
    }
  }
  std::sort(machine.ports.begin(), machine.ports.end(), [](const Port& one, const Port& other) {
    return std::tie(one.device, one.number) < std::tie(other.device, other.number);
  });
}

}  // namespace ringside::topology
