// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/machine_health.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>
#include <utility>

#include "analyzer/model/joined.h"

namespace ringside::metrics {
namespace {

using topology::Gpu;
using topology::Machine;
using topology::NvLink;
using topology::Port;

constexpr std::array kLinkCounterTexts = {"replays", "recoveries", "CRC errors of flits",
                                          "CRC errors of data"};
// A port's counters that grow only when something is wrong. Others count ordinary work.
constexpr std::array kPortTroubles = {"symbol_error",
                                      "link_error_recovery",
                                      "link_downed",
                                      "port_rcv_errors",
                                      "port_rcv_remote_physical_errors",
                                      "port_xmit_discards",
                                      "local_link_integrity_errors",
                                      "excessive_buffer_overrun_errors",
                                      "out_of_sequence",
                                      "packet_seq_err",
                                      "local_ack_timeout_err",
                                      "roce_adp_retrans"};

constexpr std::size_t kHostsNamed = 4;  // of a list

std::string counted_links(const Gpu& gpu) {
  std::size_t up = 0;
  std::string down;
  for (const NvLink& link : gpu.links) {
    up += link.is_up == true ? 1 : 0;
    if (link.is_up == false) {
      down += (down.empty() ? " (not " : ", ") + std::to_string(link.number);
    }
  }
  return std::to_string(up) + " of " + std::to_string(gpu.links.size()) +
         (down.empty() ? "" : down + ')');
}

std::string gbit_text(std::uint64_t mbit_s) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g Gb/s", static_cast<double>(mbit_s) / 1000);
  return text.data();
}

void add_gpu(const Gpu& gpu, const std::string& name, std::map<std::string, std::string>& facts) {
  if (!gpu.name.empty()) {
    facts["model of " + name] = gpu.name;
  }
  facts["NVLinks of " + name + " that are up"] = counted_links(gpu);
  std::set<std::uint64_t> speeds;
  for (const NvLink& link : gpu.links) {
    if (link.speed_mbytes_s) {
      speeds.insert(*link.speed_mbytes_s);
    }
  }
  for (const std::uint64_t speed : speeds) {
    std::string& text = facts["speed of the NVLinks of " + name];
    text += (text.empty() ? "" : ", ") + std::to_string(speed) + " MB/s";
  }
  if (gpu.pcie_width && gpu.most_pcie_width) {
    facts["PCIe lanes of " + name] =
        std::to_string(*gpu.pcie_width) + " of " + std::to_string(*gpu.most_pcie_width);
  }
  if (!gpu.fabric_cluster.empty()) {
    facts["NVLink fabric of " + name] =
        gpu.fabric_cluster + " clique " + std::to_string(gpu.fabric_clique.value_or(0));
  }
}

std::map<std::string, std::string> facts_of(const Machine& machine,
                                            const std::function<std::string(const Gpu&)>& name_of) {
  std::map<std::string, std::string> facts;
  for (const Gpu& gpu : machine.gpus) {
    add_gpu(gpu, name_of(gpu), facts);
  }
  for (const Port& port : machine.ports) {
    const std::string name = port_name(port);
    if (port.rate_mbit_s) {
      facts["rate of " + name] = gbit_text(*port.rate_mbit_s);
    }
    facts["state of " + name] = port.state.empty() ? "not known" : port.state;
  }
  if (!machine.driver.empty()) {
    facts["driver"] = machine.driver;
  }
  return facts;
}

std::string gpu_text(const Gpu& gpu) {
  return "GPU " + std::to_string(gpu.index) + " (" + gpu.pci + ')';
}

template <typename Thing, typename IsSame>
const Thing* same_in(const std::vector<Thing>& all, IsSame is_same) {
  const auto found = std::find_if(all.begin(), all.end(), is_same);
  return found == all.end() ? nullptr : &*found;
}

// "42 CRC errors of flits and 2 replays"; empty if nothing has grown. A counter that went back was
// reset, so nothing is known of it.
std::string grown(const std::vector<std::pair<std::string, std::uint64_t>>& counters) {
  std::string text;
  for (const auto& [name, increase] : counters) {
    text += (text.empty() ? "" : ", ") + std::to_string(increase) + ' ' + name;
  }
  return text;
}

void find_link_trouble(const std::string& host, const Gpu& first, const Gpu& last,
                       std::vector<TopologyFinding>& findings) {
  for (const NvLink& link : last.links) {
    const std::string name =
        "Host " + host + ": NVLink " + std::to_string(link.number) + " of " + gpu_text(last);
    const NvLink* const before =
        same_in(first.links, [&](const NvLink& one) { return one.number == link.number; });
    if (link.is_up == false) {
      const bool was_up = before != nullptr && before->is_up == true;
      findings.push_back({"link-down", name + (was_up ? " went down during the job." : " is down."),
                          false, host, last.pci});
    }
    std::vector<std::pair<std::string, std::uint64_t>> counters;
    for (std::size_t i = 0; before != nullptr && i < topology::kLinkCounters; ++i) {
      if (link.errors[i] && before->errors[i] && *link.errors[i] > *before->errors[i]) {
        counters.emplace_back(kLinkCounterTexts[i], *link.errors[i] - *before->errors[i]);
      }
    }
    if (!counters.empty()) {
      findings.push_back({"link-errors", name + " had " + grown(counters) + " during the job.",
                          false, host, last.pci});
    }
  }
}

void find_pcie_trouble(const std::string& host, const Gpu& first, const Gpu& last,
                       std::vector<TopologyFinding>& findings) {
  if (last.pcie_width && last.most_pcie_width && *last.pcie_width < *last.most_pcie_width) {
    findings.push_back({"pcie-degraded",
                        "Host " + host + ": PCIe of " + gpu_text(last) + " has " +
                            std::to_string(*last.pcie_width) + " lanes of the " +
                            std::to_string(*last.most_pcie_width) + " that GPU and slot have.",
                        false, host, last.pci});
  }
  const std::uint32_t now =
      std::max(first.pcie_generation.value_or(0), last.pcie_generation.value_or(0));
  if (now != 0 && last.most_pcie_generation && now < *last.most_pcie_generation) {
    findings.push_back({"pcie-degraded",
                        "Host " + host + ": PCIe of " + gpu_text(last) + " ran as generation " +
                            std::to_string(now) + " of " +
                            std::to_string(*last.most_pcie_generation) +
                            " whenever it was read; an idle GPU may lower it to save power.",
                        true});
  }
}

// The ports that work have one rate on most machines. If three quarters of them have it, one that
// is slower stands out.
void find_slow_ports(const std::string& host, const Machine& machine,
                     std::vector<TopologyFinding>& findings) {
  std::map<std::uint64_t, std::size_t> rates;
  std::size_t active = 0;
  for (const Port& port : machine.ports) {
    if (port.state == "ACTIVE" && port.rate_mbit_s) {
      ++rates[*port.rate_mbit_s];
      ++active;
    }
  }
  const auto usual = std::max_element(
      rates.begin(), rates.end(), [](auto& one, auto& other) { return one.second < other.second; });
  if (usual == rates.end() || usual->second * 4 < active * 3) {
    return;
  }
  for (const Port& port : machine.ports) {
    if (port.state == "ACTIVE" && port.rate_mbit_s && *port.rate_mbit_s < usual->first) {
      findings.push_back({"adapter-slow",
                          "Host " + host + ": port " + std::to_string(port.number) + " of " +
                              port.device + " runs at " + gbit_text(*port.rate_mbit_s) + ", and " +
                              std::to_string(usual->second) + " other ports at " +
                              gbit_text(usual->first) + '.',
                          false, host, port_name(port)});
    }
  }
}

void find_port_trouble(const std::string& host, const Port& first, const Port& last,
                       std::vector<TopologyFinding>& findings) {
  const std::string name =
      "Host " + host + ": port " + std::to_string(last.number) + " of " + last.device;
  if (first.state == "ACTIVE" && last.state != "ACTIVE") {
    findings.push_back({"adapter-down", name + " went from ACTIVE to " + last.state + '.', false,
                        host, port_name(last)});
  }
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  for (const char* const counter : kPortTroubles) {
    const auto before = first.counters.find(counter);
    const auto after = last.counters.find(counter);
    if (before != first.counters.end() && after != last.counters.end() &&
        after->second > before->second) {
      counters.emplace_back(counter, after->second - before->second);
    }
  }
  if (!counters.empty()) {
    findings.push_back({"adapter-errors", name + " had " + grown(counters) + " during the job.",
                        false, host, port_name(last)});
  }
}

}  // namespace

std::map<std::string, std::string> facts_by_address(const Machine& machine) {
  return facts_of(machine, [](const Gpu& gpu) { return "GPU " + gpu.pci; });
}

std::map<std::string, std::string> facts_by_index(const Machine& machine) {
  auto facts = facts_of(machine, [](const Gpu& gpu) { return "GPU " + std::to_string(gpu.index); });
  facts["number of GPUs"] = std::to_string(machine.gpus.size());
  facts["number of InfiniBand and RoCE ports"] = std::to_string(machine.ports.size());
  return facts;
}

std::vector<std::string> differences(const std::vector<Seen>& all, const std::string& plural,
                                     bool are_whole) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> by_fact;
  for (const Seen& seen : all) {
    for (const auto& [fact, value] : seen.facts) {
      by_fact[fact][value].push_back(seen.who);
    }
  }
  std::vector<std::string> texts;
  for (auto& [fact, values] : by_fact) {
    for (const Seen& seen : all) {
      if (are_whole && !seen.facts.contains(fact)) {
        values["not there"].push_back(seen.who);
      }
    }
    if (values.size() < 2) {
      continue;
    }
    const auto most = std::max_element(
        values.begin(), values.end(),
        [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
    std::string text = fact + ":";
    for (auto value = values.begin(); value != values.end(); ++value) {
      if (value != most) {
        text += ' ' + value->first + " on " + model::joined(value->second, kHostsNamed) + ';';
      }
    }
    const std::size_t others = most->second.size();
    texts.push_back(
        text + ' ' + most->first + " on " +
        (others == 1 ? most->second[0] : "the other " + std::to_string(others) + ' ' + plural));
  }
  return texts;
}

void find_trouble(const std::string& host, const Machine& first, const Machine& last,
                  std::vector<TopologyFinding>& findings) {
  for (const Gpu& gpu : last.gpus) {
    const Gpu* const before =
        same_in(first.gpus, [&](const Gpu& one) { return one.pci == gpu.pci; });
    find_link_trouble(host, before != nullptr ? *before : gpu, gpu, findings);
    find_pcie_trouble(host, before != nullptr ? *before : gpu, gpu, findings);
  }
  find_slow_ports(host, last, findings);
  for (const Port& port : last.ports) {
    const Port* const before = same_in(first.ports, [&](const Port& one) {
      return one.device == port.device && one.number == port.number;
    });
    if (before != nullptr) {
      find_port_trouble(host, *before, port, findings);
    }
  }
}

}  // namespace ringside::metrics
