// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

namespace emugpu {
namespace {

using nlohmann::json;

constexpr std::array kCounters = {"replay", "recovery", "crc_flit", "crc_data"};
constexpr char kSwitch[] = "0000:fe:00.0";

MachineGpu read_gpu(const json& text) {
  MachineGpu gpu;
  gpu.name = text.at("name");
  gpu.compute_major = text.at("compute_capability").at(0);
  gpu.compute_minor = text.at("compute_capability").at(1);
  gpu.pcie_generation = gpu.most_pcie_generation = text.at("pcie_generation");
  gpu.pcie_width = gpu.most_pcie_width = text.at("pcie_width");
  return gpu;
}

// "mesh" has [one, other, links] for each pair of GPUs, "switch" the number of links of each GPU.
void read_links(const json& text, std::vector<MachineGpu>& gpus) {
  for (MachineGpu& gpu : gpus) {
    gpu.link_version = text.at("version");
    gpu.link_speed_mbytes_s = text.at("speed_mbytes_s");
    gpu.links.resize(text.value("switch", std::size_t{0}), {.remote_bus_id = kSwitch});
  }
  for (const json& pair : text.value("mesh", json::array())) {
    const std::size_t one = pair.at(0);
    const std::size_t other = pair.at(1);
    const int links = pair.at(2);
    for (int link = 0; link < links; ++link) {
      gpus.at(one).links.push_back(
          {.end = LinkEnd::kGpu, .remote_bus_id = bus_id_of(static_cast<int>(other))});
      gpus.at(other).links.push_back(
          {.end = LinkEnd::kGpu, .remote_bus_id = bus_id_of(static_cast<int>(one))});
    }
  }
}

// A fault has "gpu", and maybe "host": the NCCL_HOSTID of the processes that see it.
void add_fault(const json& text, std::vector<MachineGpu>& gpus) {
  const char* const host = std::getenv("NCCL_HOSTID");
  if (text.contains("host") && (host == nullptr || text.at("host") != host)) return;
  MachineGpu& gpu = gpus.at(text.at("gpu"));
  gpu.pcie_width = text.value("pcie_width", gpu.pcie_width);
  gpu.pcie_generation = text.value("pcie_generation", gpu.pcie_generation);
  if (!text.contains("link")) return;
  MachineLink& link = gpu.links.at(text.at("link"));
  link.is_up = !text.value("down", false);
  for (std::size_t counter = 0; counter < kCounters.size(); ++counter) {
    if (text.contains(kCounters[counter])) {
      link.errors_first[counter] = text.at(kCounters[counter]).at(0);
      link.errors_later[counter] = text.at(kCounters[counter]).at(1);
    }
  }
}

Machine* read_machine(const char* path) {
  std::ifstream file(path);
  const json text = json::parse(file);
  auto* const machine = new Machine;
  machine->fails = text.value("fails", "");
  machine->hangs = text.value("hangs", "");
  machine->gpus.resize(text.at("gpus"), read_gpu(text.at("gpu")));
  if (text.contains("nvlink")) read_links(text.at("nvlink"), machine->gpus);
  if (text.contains("fabric")) {
    for (MachineGpu& gpu : machine->gpus) {
      gpu.fabric_cluster = text.at("fabric").at("cluster");
      gpu.fabric_clique = text.at("fabric").at("clique");
    }
  }
  for (const json& fault : text.value("faults", json::array())) add_fault(fault, machine->gpus);
  return machine;
}

}  // namespace

const Machine* machine() {
  static const Machine* const described = []() -> const Machine* {
    const char* const path = std::getenv("EMUGPU_MACHINE");
    if (path == nullptr || *path == '\0') return nullptr;
    try {
      return read_machine(path);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "EMUGPU_MACHINE=%s: %s\n", path, error.what());
      std::abort();
    }
  }();
  return described;
}

std::string bus_id_of(int ordinal) {
  char bus_id[16];
  std::snprintf(bus_id, sizeof bus_id, "0000:%02x:00.0", (0x18 + ordinal * 0x10) & 0xff);
  return bus_id;
}

}  // namespace emugpu
