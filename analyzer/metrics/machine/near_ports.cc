// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/near_ports.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/metrics/machine/topology.h"
#include "analyzer/model/pci_distance.h"

namespace ringside::metrics {
namespace {

// NCCL's rules: names separated by commas, "^" excludes, "=" wants the whole name, ":" the port.
bool is_chosen_port(const topology::Port& port, const std::string* hca) {
  if (hca == nullptr) {
    return true;
  }
  std::string_view list = *hca;
  const bool excludes = list.starts_with('^');
  list.remove_prefix(excludes ? 1 : 0);
  const bool is_exact = list.starts_with('=');
  list.remove_prefix(is_exact ? 1 : 0);
  bool is_named = false;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t colon = std::min(name.find(':'), name.size());
    const std::string_view number = name.substr(std::min(colon + 1, name.size()));
    name = name.substr(0, colon);
    const bool fits = is_exact ? port.device == name : port.device.starts_with(name);
    is_named = is_named || (fits && (number.empty() || number == std::to_string(port.number)));
  }
  return is_named != excludes;
}

bool uses_verbs(const model::Process& process) {
  const std::string* const disabled = nccl_variable(process, "NCCL_IB_DISABLE");
  const std::string* const net = nccl_variable(process, "NCCL_NET");
  return (disabled == nullptr || *disabled == "0") && (net == nullptr || *net == "IB");
}

}  // namespace

std::optional<std::vector<const topology::Port*>> near_ports(const model::TraceFile& file,
                                                             const topology::Gpu& gpu) {
  constexpr std::array<std::string_view, 5> kNearFirst = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  const topology::Machine* const machine = first_reading(file);
  const std::string* const hca = nccl_variable(file.process, "NCCL_IB_HCA");
  if (machine == nullptr || !uses_verbs(file.process)) {
    return std::nullopt;
  }
  std::array<std::vector<const topology::Port*>, kNearFirst.size()> by_distance;
  for (const topology::Port& port : machine->ports) {
    if (port.state != "ACTIVE" || !is_chosen_port(port, hca)) {
      continue;
    }
    const std::string distance = model::pci_distance(gpu, port);
    const auto* const place = std::find(kNearFirst.begin(), kNearFirst.end(), distance);
    if (place == kNearFirst.end()) {
      return std::nullopt;
    }
    by_distance[static_cast<std::size_t>(place - kNearFirst.begin())].push_back(&port);
  }
  for (auto& ports : by_distance) {
    if (!ports.empty()) {
      return std::move(ports);
    }
  }
  return std::nullopt;
}

}  // namespace ringside::metrics
