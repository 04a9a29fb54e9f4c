// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/mesh.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ringside::metrics {
namespace {

using Matrix = std::vector<std::vector<std::uint32_t>>;
constexpr std::size_t kCubeGpus = 8;
constexpr std::size_t kGroupGpus = 4;

std::optional<std::uint64_t> added(const std::optional<std::uint64_t>& one,
                                   const std::optional<std::uint64_t>& other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

// A device may be known by its UUID in one reading and by its address alone in another.
std::string device_of(const MeshGpu& gpu) {
  return gpu.gpu->pci.empty() ? gpu.gpu->uuid : gpu.host + ' ' + gpu.gpu->pci;
}

std::string place_text(const MeshGpu& gpu) {
  return gpu.gpu->fabric_cluster.empty() ? "host " + gpu.host
                                         : domain_of(gpu) + " (host " + gpu.host + ')';
}

bool is_linked(const Matrix& links, std::size_t one, std::size_t other) {
  return links[one][other] > 0 && links[other][one] > 0;
}

// Whether these four are a group of the cube mesh, and the other four the other one.
bool are_groups(const Matrix& links, const std::array<bool, kCubeGpus>& is_in_first) {
  for (std::size_t one = 0; one < kCubeGpus; ++one) {
    std::size_t peers = 0;
    for (std::size_t other = 0; other < kCubeGpus; ++other) {
      const bool is_same_group = is_in_first[one] == is_in_first[other];
      if (one != other && is_same_group && !is_linked(links, one, other)) {
        return false;
      }
      peers += !is_same_group && is_linked(links, one, other) ? 1 : 0;
    }
    if (peers != 1) {
      return false;
    }
  }
  return true;
}

bool is_hybrid_cube_mesh(const Matrix& links) {
  if (links.size() != kCubeGpus) {
    return false;
  }
  // The first GPU is in the first group, with each choice of three others.
  for (unsigned choice = 0; choice < 1U << (kCubeGpus - 1); ++choice) {
    if (__builtin_popcount(choice) != kGroupGpus - 1) {
      continue;
    }
    std::array<bool, kCubeGpus> is_in_first{true};
    for (std::size_t gpu = 1; gpu < kCubeGpus; ++gpu) {
      is_in_first[gpu] = (choice >> (gpu - 1) & 1U) != 0;
    }
    if (are_groups(links, is_in_first)) {
      return true;
    }
  }
  return false;
}

}  // namespace

SwitchSide switch_side(const topology::Gpu& gpu) {
  SwitchSide side;
  for (const topology::NvLink& link : gpu.links) {
    if (link.is_up == true && link.remote == topology::Remote::kSwitch) {
      ++side.links;
      side.mbytes_s = added(side.mbytes_s, data_rate_mbytes_s(link));
    }
  }
  return side;
}

std::optional<std::uint64_t> data_rate_mbytes_s(const topology::NvLink& link) {
  // By NVLink's version as NVML numbers it: half of the bandwidth "in both directions" of the data
  // sheets, by the number of links.
  constexpr std::array<std::uint64_t, 6> kRates = {0, 20'000, 25'000, 25'000, 25'000, 50'000};
  std::optional<std::uint64_t> rate;
  if (link.version && *link.version > 0 && *link.version < kRates.size()) {
    rate = kRates[*link.version];
  }
  if (link.speed_mbytes_s) {
    rate = std::min(rate.value_or(*link.speed_mbytes_s), *link.speed_mbytes_s);
  }
  return rate;
}

std::string domain_of(const MeshGpu& gpu) {
  if (gpu.gpu == nullptr || gpu.gpu->fabric_cluster.empty()) {
    return gpu.host;
  }
  return "fabric " + gpu.gpu->fabric_cluster + " clique " +
         std::to_string(gpu.gpu->fabric_clique.value_or(0));
}

MeshKind kind_of(const Matrix& links, const Matrix& switch_links) {
  std::size_t pairs = 0;
  std::size_t linked = 0;
  bool has_direct = false;
  for (std::size_t one = 0; one < links.size(); ++one) {
    for (std::size_t other = one + 1; other < links.size(); ++other) {
      ++pairs;
      if (is_linked(links, one, other)) {
        ++linked;
        has_direct = has_direct || links[one][other] > switch_links[one][other];
      }
    }
  }
  if (linked == 0) {
    return MeshKind::kNone;
  }
  if (linked == pairs) {
    return has_direct ? MeshKind::kFullyConnected : MeshKind::kSwitched;
  }
  return is_hybrid_cube_mesh(links) ? MeshKind::kHybridCubeMesh : MeshKind::kPartial;
}

std::optional<Mesh> make_mesh(const std::vector<MeshGpu>& gpus, std::string& refusal) {
  std::map<std::string, std::size_t> by_device;  // of a host
  for (std::size_t one = 0; one < gpus.size(); ++one) {
    if (domain_of(gpus[one]) != domain_of(gpus[0])) {
      refusal = gpus[one].label + " is on " + place_text(gpus[one]) + ", and " + gpus[0].label +
                " is on " + place_text(gpus[0]) +
                ": no NVLinks join them, so there is no matrix of both";
      return std::nullopt;
    }
    const auto [known, is_new] = by_device.emplace(device_of(gpus[one]), one);
    if (!is_new) {
      refusal = gpus[known->second].label + " and " + gpus[one].label + " use the same GPU, " +
                gpus[one].gpu->pci + " of host " + gpus[one].host +
                ": give each rank a GPU of its own (torch.cuda.set_device)";
      return std::nullopt;
    }
  }
  Mesh mesh;
  mesh.links.assign(gpus.size(), std::vector<std::uint32_t>(gpus.size()));
  mesh.switch_links = mesh.links;
  mesh.mbytes_s.assign(gpus.size(), std::vector<std::optional<std::uint64_t>>(gpus.size(), 0));
  std::vector<SwitchSide> sides;
  sides.reserve(gpus.size());
  for (const MeshGpu& gpu : gpus) {
    sides.push_back(switch_side(*gpu.gpu));
  }
  for (std::size_t one = 0; one < gpus.size(); ++one) {
    for (const topology::NvLink& link : gpus[one].gpu->links) {
      if (link.is_up != true || link.remote != topology::Remote::kGpu) {
        continue;  // the links that follow count all the same
      }
      const auto other = by_device.find(gpus[one].host + ' ' + link.remote_pci);
      if (other != by_device.end() && other->second != one) {
        ++mesh.links[one][other->second];
        auto& mbytes_s = mesh.mbytes_s[one][other->second];
        mbytes_s = added(mbytes_s, data_rate_mbytes_s(link));
      }
    }
    mesh.direct_mbytes_s.push_back(mesh.mbytes_s[one]);
    mesh.switch_mbytes_s.push_back(sides[one].mbytes_s);
    for (std::size_t other = 0; other < gpus.size(); ++other) {
      if (one == other) {
        continue;
      }
      const std::uint32_t through = std::min(sides[one].links, sides[other].links);
      mesh.switch_links[one][other] = through;
      mesh.links[one][other] += through;
      if (through > 0) {
        const bool is_known = sides[one].mbytes_s && sides[other].mbytes_s;
        mesh.mbytes_s[one][other] =
            is_known ? added(mesh.mbytes_s[one][other],
                             std::min(*sides[one].mbytes_s, *sides[other].mbytes_s))
                     : std::nullopt;
      }
    }
  }
  mesh.kind = kind_of(mesh.links, mesh.switch_links);
  return mesh;
}

}  // namespace ringside::metrics
