// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/machine_lines.h"

#include <optional>
#include <string>
#include <string_view>

#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

template <typename Integer>
void known(JsonText& line, std::string_view key, const std::optional<Integer>& value) {
  if (value) {
    line.member(key, *value);
  }
}

void known(JsonText& line, std::string_view key, const std::string& value) {
  if (!value.empty()) {
    line.member_string(key, value);
  }
}

void write_link(JsonText& line, const topology::NvLink& link) {
  line.raw("{\"link\":").integer(link.number);
  if (link.is_up) {
    line.key("up").raw(*link.is_up ? "true" : "false");
  }
  known(line, "version", link.version);
  known(line, "speed_mbytes_s", link.speed_mbytes_s);
  known(line, "remote", std::string(topology::kRemoteNames[static_cast<std::size_t>(link.remote)]));
  known(line, "remote_pci", link.remote_pci);
  for (std::size_t counter = 0; counter < topology::kLinkCounters; ++counter) {
    known(line, topology::kLinkCounterNames[counter], link.errors[counter]);
  }
  line.raw("}");
}

void write_gpu(LineWriter& lines, std::int64_t ts_ns, const topology::Gpu& gpu) {
  JsonText& line = lines.begin_metadata(schema::kLineGpu);
  line.raw("\"ts_ns\":").integer(ts_ns).member("index", gpu.index);
  known(line, "pci", gpu.pci);
  known(line, "uuid", gpu.uuid);
  known(line, "name", gpu.name);
  known(line, "compute_major", gpu.compute_major);
  known(line, "compute_minor", gpu.compute_minor);
  known(line, "memory_clock_mhz", gpu.memory_clock_mhz);
  known(line, "memory_bus_bits", gpu.memory_bus_bits);
  known(line, "pcie_generation", gpu.pcie_generation);
  known(line, "pcie_width", gpu.pcie_width);
  known(line, "most_pcie_generation", gpu.most_pcie_generation);
  known(line, "most_pcie_width", gpu.most_pcie_width);
  known(line, "numa_node", gpu.numa_node);
  known(line, "pci_path", gpu.pci_path);
  known(line, "fabric_cluster", gpu.fabric_cluster);
  known(line, "fabric_clique", gpu.fabric_clique);
  line.key("links").raw("[");
  for (std::size_t i = 0; i < gpu.links.size(); ++i) {
    line.raw(i == 0 ? "" : ",");
    write_link(line, gpu.links[i]);
  }
  line.raw("]");
  lines.end();
}

void write_port(LineWriter& lines, std::int64_t ts_ns, const topology::Port& port) {
  JsonText& line = lines.begin_metadata(schema::kLinePort);
  line.raw("\"ts_ns\":").integer(ts_ns).member_string("device", port.device);
  line.member("port", port.number);
  known(line, "pci", port.pci);
  known(line, "pci_path", port.pci_path);
  known(line, "numa_node", port.numa_node);
  known(line, "link_layer", port.link_layer);
  known(line, "state", port.state);
  known(line, "rate_mbit_s", port.rate_mbit_s);
  line.key("counters").raw("{");
  bool is_first = true;
  for (const auto& [name, value] : port.counters) {
    line.raw(is_first ? "" : ",").string(name).raw(":");
    // A counter may be above what a JSON number holds.
    constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53U;
    value <= kMostExact ? line.integer(value) : line.hex(value);
    is_first = false;
  }
  line.raw("}");
  lines.end();
}

}  // namespace

void write_machine(LineWriter& lines, std::int64_t ts_ns, const topology::Machine& machine) {
  JsonText& line = lines.begin_metadata(schema::kLineTopology);
  line.raw("\"ts_ns\":").integer(ts_ns);
  line.member_string("state", topology::kStateNames[static_cast<std::size_t>(machine.state)]);
  known(line, "reason", machine.reason);
  known(line, "driver", machine.driver);
  line.member("took_ns", machine.took_ns);
  if (machine.nvml_ns != 0) {
    line.member("nvml_ns", machine.nvml_ns);
  }
  line.member("gpus", machine.gpus.size()).member("ports", machine.ports.size());
  if (machine.left_out != 0) {
    line.member("left_out", machine.left_out);
  }
  lines.end();
  for (const topology::Gpu& gpu : machine.gpus) {
    write_gpu(lines, ts_ns, gpu);
  }
  for (const topology::Port& port : machine.ports) {
    write_port(lines, ts_ns, port);
  }
}

}  // namespace ringside::exporting
