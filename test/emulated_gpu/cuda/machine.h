// SPDX-License-Identifier: Apache-2.0
//
// The machine that the emulated NVML presents: a description in JSON, whose path is EMUGPU_MACHINE
// (README.md says what it may have). Without one there are no NVLinks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emugpu {

enum class LinkEnd : std::uint8_t { kGpu, kSwitch };

struct MachineLink {
  bool is_up = true;
  LinkEnd end = LinkEnd::kSwitch;
  std::string remote_bus_id;  // of a GPU, or of the switch
  // By NVML's number of the counter: at the first reading, and at all later ones.
  std::array<std::uint64_t, 4> errors_first{}, errors_later{};
};

struct MachineGpu {
  std::string name;
  int compute_major = 0, compute_minor = 0;
  unsigned pcie_generation = 0, pcie_width = 0, most_pcie_generation = 0, most_pcie_width = 0;
  unsigned link_version = 0, link_speed_mbytes_s = 0;
  std::string fabric_cluster;  // 32 hexadecimal digits; empty: none
  unsigned fabric_clique = 0;
  std::vector<MachineLink> links;
};

struct Machine {
  std::vector<MachineGpu> gpus;
  std::string fails;  // where NVML fails: "init" or "count"
  std::string hangs;  // where it never returns: "init", "links", or "later" (from the second
                      // reading); or "slow": a query of a link takes 5 ms
};

// The description, or NULL without one. One that cannot be read ends the process.
const Machine* machine();

// The PCI address of a GPU of the machine, also where there are fewer emulated devices.
std::string bus_id_of(int ordinal);

}  // namespace emugpu
