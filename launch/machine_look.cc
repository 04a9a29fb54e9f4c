// SPDX-License-Identifier: Apache-2.0
#include "launch/machine_look.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>

#include "launch/isolated.h"
#include "plugin/topology/probe.h"

namespace ringside::launch {
namespace {

std::string number_of(std::size_t count, const char* thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

std::size_t links_up(const topology::Gpu& gpu) {
  return static_cast<std::size_t>(
      std::count_if(gpu.links.begin(), gpu.links.end(),
                    [](const topology::NvLink& link) { return link.is_up == true; }));
}

std::string links_text(const topology::Machine& machine) {
  std::size_t least = SIZE_MAX;
  std::size_t most = 0;
  for (const topology::Gpu& gpu : machine.gpus) {
    least = std::min(least, links_up(gpu));
    most = std::max(most, links_up(gpu));
  }
  if (most == 0) {
    return " without NVLinks";
  }
  return " with " + (least == most ? "" : std::to_string(least) + " to ") +
         number_of(most, "NVLink") + " each";
}

std::string ports_text(const topology::Machine& machine) {
  std::map<std::string, std::size_t> by_rate;
  for (const topology::Port& port : machine.ports) {
    const std::string rate =
        port.rate_mbit_s ? std::to_string(*port.rate_mbit_s / 1000) + " Gb/s" : "an unknown rate";
    ++by_rate[port.state == "ACTIVE" ? "of " + rate : "that is not active"];
  }
  std::string text;
  for (const auto& [rate, count] : by_rate) {
    text += ", " + number_of(count, "port") + ' ' + rate;
  }
  return text.empty() ? ", no InfiniBand or RoCE" : text;
}

std::string name_of(const topology::Gpu& gpu) {
  return "GPU " + std::to_string(gpu.index) + " (" + gpu.pci + ')';
}

}  // namespace

MachineLook describe_machine(const topology::Machine& machine) {
  MachineLook look;
  if (machine.state != topology::State::kComplete) {
    look.error = machine.reason;
    return look;
  }
  look.summary = number_of(machine.gpus.size(), "GPU") + links_text(machine) + ports_text(machine) +
                 "; read in " + std::to_string(machine.took_ns / 1'000'000) + " ms";
  for (const topology::Gpu& gpu : machine.gpus) {
    for (const topology::NvLink& link : gpu.links) {
      if (link.is_up == false) {
        look.troubles.push_back("NVLink " + std::to_string(link.number) + " of " + name_of(gpu) +
                                " is down");
      }
    }
    if (gpu.pcie_width && gpu.most_pcie_width && *gpu.pcie_width < *gpu.most_pcie_width) {
      look.troubles.push_back("PCIe of " + name_of(gpu) + " has " +
                              std::to_string(*gpu.pcie_width) + " lanes of " +
                              std::to_string(*gpu.most_pcie_width));
    }
  }
  return look;
}

MachineLook look_at_machine(const std::string& sysfs) {
  // The error, the summary, and what is troublesome.
  const Answer answer = ask_child([&] {
    topology::Nvml nvml;
    bool is_open = false;
    const std::atomic<bool> stop{false};
    MachineLook look = describe_machine(topology::read_machine(sysfs, nvml, is_open, stop));
    look.troubles.insert(look.troubles.begin(), {look.error, look.summary});
    return look.troubles;
  });
  MachineLook look;
  look.error = answer.error.empty() ? answer.line(0) : "the reading did not end: " + answer.error;
  look.summary = answer.line(1);
  for (std::size_t i = 2; i < answer.lines.size(); ++i) {
    look.troubles.push_back(answer.lines[i]);
  }
  return look;
}

}  // namespace ringside::launch
