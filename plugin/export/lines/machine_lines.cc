// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/chrome_trace.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {
namespace {

void write_link(JsonText& line, const topology::NvLink& link) {
  line.next().raw("{\"link\":").integer(link.number);
  if (link.is_up) {
    line.member_bool("up", *link.is_up);
  }
  line.member_known("version", link.version)
      .member_known("speed_mbytes_s", link.speed_mbytes_s)
      .member_text("remote", topology::kRemoteNames[static_cast<std::size_t>(link.remote)])
      .member_text("remote_pci", link.remote_pci);
  for (std::size_t counter = 0; counter < topology::kLinkCounters; ++counter) {
    line.member_known(topology::kLinkCounterNames[counter], link.errors[counter]);
  }
  line.raw("}");
}

void write_gpu(LineWriter& lines, std::int64_t ts_ns, const topology::Gpu& gpu) {
  JsonText& line = lines.begin_metadata(schema::kLineGpu);
  line.raw("\"ts_ns\":")
      .integer(ts_ns)
      .member("index", gpu.index)
      .member_text("pci", gpu.pci)
      .member_text("uuid", gpu.uuid)
      .member_text("name", gpu.name)
      .member_known("pcie_generation", gpu.pcie_generation)
      .member_known("pcie_width", gpu.pcie_width)
      .member_known("most_pcie_generation", gpu.most_pcie_generation)
      .member_known("most_pcie_width", gpu.most_pcie_width)
      .member_known("numa_node", gpu.numa_node)
      .member_text("pci_path", gpu.pci_path)
      .member_text("fabric_cluster", gpu.fabric_cluster)
      .member_known("fabric_clique", gpu.fabric_clique)
      .key("links")
      .raw("[");
  for (const topology::NvLink& link : gpu.links) {
    write_link(line, link);
  }
  line.raw("]");
  lines.end();
}

void write_port(LineWriter& lines, std::int64_t ts_ns, const topology::Port& port) {
  JsonText& line = lines.begin_metadata(schema::kLinePort);
  line.raw("\"ts_ns\":")
      .integer(ts_ns)
      .member_string("device", port.device)
      .member("port", port.number)
      .member_text("pci", port.pci)
      .member_text("pci_path", port.pci_path)
      .member_known("numa_node", port.numa_node)
      .member_text("link_layer", port.link_layer)
      .member_text("state", port.state)
      .member_known("rate_mbit_s", port.rate_mbit_s)
      .key("counters")
      .raw("{");
  for (const auto& [name, value] : port.counters) {
    line.next().string(name).raw(":");
    // A counter may be above what a JSON number holds.
    constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53U;
    value <= kMostExact ? line.integer(value) : line.hex(value);
  }
  line.raw("}");
  lines.end();
}

}  // namespace

void write_machine(LineWriter& lines, std::int64_t ts_ns, const topology::Machine& machine) {
  JsonText& line = lines.begin_metadata(schema::kLineTopology);
  line.raw("\"ts_ns\":")
      .integer(ts_ns)
      .member_string("state", topology::kStateNames[static_cast<std::size_t>(machine.state)])
      .member_text("reason", machine.reason)
      .member_text("driver", machine.driver)
      .member("took_ns", machine.took_ns)
      .member_unless(0, "nvml_ns", machine.nvml_ns)
      .member("gpus", machine.gpus.size())
      .member("ports", machine.ports.size())
      .member_unless(0, "left_out", machine.left_out);
  lines.end();
  for (const topology::Gpu& gpu : machine.gpus) {
    write_gpu(lines, ts_ns, gpu);
  }
  for (const topology::Port& port : machine.ports) {
    write_port(lines, ts_ns, port);
  }
}

}  // namespace ringside::exporting
