// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/peak.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace ringside::metrics {
namespace {

constexpr double kMbytesPerGb = 1000;
// All groups of so many ranks are looked at; more ranks than that are not joined by direct links.
constexpr std::size_t kMostMeshRanks = 16;

struct DomainRank {
  MeshGpu gpu;
  const model::TraceFile* file = nullptr;
};

const std::string* variable_of(const model::Process& process, const char* name) {
  const auto found = process.nccl_environment.find(name);
  return found == process.nccl_environment.end() || found->second.empty() ? nullptr
                                                                          : &found->second;
}

// NCCL was told to leave NVLink or PCIe between GPUs unused, so the model does not say what it
// uses.
bool is_p2p_limited(const model::Process& process) {
  const std::string* const disabled = variable_of(process, "NCCL_P2P_DISABLE");
  return (disabled != nullptr && *disabled != "0") ||
         variable_of(process, "NCCL_P2P_LEVEL") != nullptr;
}

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
  const std::string* const disabled = variable_of(process, "NCCL_IB_DISABLE");
  const std::string* const net = variable_of(process, "NCCL_NET");
  return (disabled == nullptr || *disabled == "0") && (net == nullptr || *net == "IB");
}

// The adapters' ports that are nearest to the GPU, among those that NCCL may use.
std::optional<std::vector<const topology::Port*>> nearest_ports(const DomainRank& rank) {
  constexpr std::array<std::string_view, 5> kNearFirst = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  const topology::Machine* const machine = first_reading(*rank.file);
  const std::string* const hca = variable_of(rank.file->process, "NCCL_IB_HCA");
  if (machine == nullptr || !uses_verbs(rank.file->process)) {
    return std::nullopt;
  }
  std::array<std::vector<const topology::Port*>, kNearFirst.size()> by_distance;
  for (const topology::Port& port : machine->ports) {
    if (port.state != "ACTIVE" || !is_chosen_port(port, hca)) {
      continue;
    }
    const std::string distance = pci_distance(*rank.gpu.gpu, port);
    const auto* const place = std::find(kNearFirst.begin(), kNearFirst.end(), distance);
    if (place == kNearFirst.end() || !port.rate_mbit_s) {
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

// The rate of all adapters of a domain together. Ranks of a host share them.
std::optional<double> adapters_of(const std::vector<DomainRank>& ranks) {
  std::set<std::pair<std::string, std::string>> counted;
  double sum_gb_s = 0;
  for (const DomainRank& rank : ranks) {
    const auto ports = nearest_ports(rank);
    if (!ports) {
      return std::nullopt;
    }
    for (const topology::Port* const port : *ports) {
      if (counted.emplace(rank.gpu.host, port->device + ':' + std::to_string(port->number))
              .second) {
        constexpr double kBits = 8;
        sum_gb_s += static_cast<double>(*port->rate_mbit_s) / kBits / kMbytesPerGb;
      }
    }
  }
  return sum_gb_s;
}

struct Within {
  double gb_s = 0;
  std::string_view bound;
};

std::optional<double> pcie_of(const topology::Gpu& gpu) {
  // The generation of an idle GPU says nothing; its lanes do.
  return gpu.most_pcie_generation && gpu.pcie_width
             ? pcie_gb_s(*gpu.most_pcie_generation, *gpu.pcie_width)
             : std::nullopt;
}

// The rate at which a group can give to the others, by NVLink; by PCIe if no NVLink joins them.
std::optional<Within> cut_of(const std::vector<DomainRank>& ranks, const Mesh& mesh,
                             const std::vector<bool>& is_in) {
  double direct = 0;
  double switch_in = 0;
  double switch_out = 0;
  for (std::size_t one = 0; one < ranks.size(); ++one) {
    if (!mesh.switch_mbytes_s[one]) {
      return std::nullopt;
    }
    (is_in[one] ? switch_in : switch_out) += static_cast<double>(*mesh.switch_mbytes_s[one]);
    for (std::size_t other = 0; other < ranks.size(); ++other) {
      if (is_in[one] && !is_in[other]) {
        if (!mesh.direct_mbytes_s[one][other]) {
          return std::nullopt;
        }
        direct += static_cast<double>(*mesh.direct_mbytes_s[one][other]);
      }
    }
  }
  if (const double all = direct + std::min(switch_in, switch_out); all > 0) {
    return Within{all / kMbytesPerGb, "NVLink"};
  }
  double pcie_in = 0;
  double pcie_out = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto pcie = pcie_of(*ranks[i].gpu.gpu);
    if (!pcie) {
      return std::nullopt;
    }
    (is_in[i] ? pcie_in : pcie_out) += *pcie;
  }
  return Within{std::min(pcie_in, pcie_out), "PCIe"};
}

// The least of all groups of a domain's ranks; of single ranks alone where each has one port.
std::optional<Within> within_of(const std::vector<DomainRank>& ranks, const Mesh& mesh,
                                bool is_ported) {
  if (!is_ported && ranks.size() > kMostMeshRanks) {
    return std::nullopt;
  }
  std::optional<Within> least;
  const std::size_t groups =
      is_ported ? ranks.size() : (std::size_t{1} << ranks.size()) - 2;  // not none, and not all
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<bool> is_in(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      is_in[i] = is_ported ? i == group : ((group + 1) >> i & 1U) != 0;
    }
    const auto cut = cut_of(ranks, mesh, is_in);
    if (!cut) {
      return std::nullopt;
    }
    if (!least || cut->gb_s < least->gb_s) {
      least = cut;
    }
  }
  return least;
}

bool has_direct_links(const Mesh& mesh) {
  for (std::size_t one = 0; one < mesh.links.size(); ++one) {
    for (std::size_t other = 0; other < mesh.links.size(); ++other) {
      if (mesh.links[one][other] > mesh.switch_links[one][other]) {
        return true;
      }
    }
  }
  return false;
}

// Adds one domain. False if there is no mesh of its ranks.
bool add_domain(const std::vector<DomainRank>& ranks, CommunicatorLinks& links) {
  if (ranks.size() > 1) {
    std::vector<MeshGpu> gpus;
    for (const DomainRank& rank : ranks) {
      gpus.push_back(rank.gpu);
      links.is_within_known = links.is_within_known && !is_p2p_limited(rank.file->process);
    }
    std::string refusal;
    const auto mesh = make_mesh(gpus, refusal);
    if (!mesh) {
      return false;
    }
    const bool is_ported = !has_direct_links(*mesh);
    links.is_ported = links.is_ported && is_ported;
    links.is_switched = links.is_switched && mesh->kind == MeshKind::kSwitched;
    const auto within = within_of(ranks, *mesh, is_ported);
    if (!within) {
      links.is_within_known = false;
    } else if (!links.within_gb_s || within->gb_s < *links.within_gb_s) {
      links.within_gb_s = within->gb_s;
      links.within_bound = within->bound;
    }
  }
  if (links.domains > 1) {
    const auto adapters_gb_s = adapters_of(ranks);
    if (links.adapters_gb_s && adapters_gb_s) {
      links.adapters_gb_s = std::min(*links.adapters_gb_s, *adapters_gb_s);
    } else {
      links.adapters_gb_s.reset();
    }
  }
  if (links.ranks_per_domain != ranks.size()) {
    links.ranks_per_domain.reset();
  }
  return true;
}

std::optional<CommunicatorLinks> links_of(const model::Traces& traces,
                                          const match::Communicator& communicator) {
  if (communicator.nranks_inferred || communicator.members.size() != communicator.nranks ||
      communicator.nranks < 2) {
    return std::nullopt;
  }
  std::map<std::string, std::vector<DomainRank>> domains;
  for (const match::Member& member : communicator.members) {
    const model::TraceFile& file = traces.files[member.file];
    const topology::Gpu* const gpu = gpu_of(file, member.context);
    if (gpu == nullptr) {
      return std::nullopt;
    }
    const MeshGpu placed = {{}, host_of(file.process), gpu};
    domains[domain_of(placed)].push_back({placed, &file});
  }
  CommunicatorLinks links;
  links.nranks = communicator.nranks;
  links.domains = static_cast<std::uint32_t>(domains.size());
  links.is_switched = true;
  links.ranks_per_domain = static_cast<std::uint32_t>(domains.begin()->second.size());
  links.adapters_gb_s = std::numeric_limits<double>::infinity();
  for (const auto& [name, ranks] : domains) {
    if (!add_domain(ranks, links)) {
      return std::nullopt;
    }
  }
  if (links.domains == 1) {
    links.adapters_gb_s.reset();
  }
  return links;
}

// The busbw that both parts allow: each is nothing if it does not bind.
std::optional<Peak> lesser(std::optional<double> within, std::string_view within_bound,
                           std::optional<double> between) {
  if (within && (!between || *within <= *between)) {
    return Peak{*within, within_bound};
  }
  return between ? std::optional(Peak{*between, "adapters"}) : std::nullopt;
}

}  // namespace

std::optional<double> pcie_gb_s(std::uint32_t generation, std::uint32_t lanes) {
  // Gb/s of a lane by the share of it that is data: 8b/10b, from generation 3 on 128b/130b.
  constexpr double kBits = 8;
  const std::array<double, 6> lane_gbit_s = {
      0, 2.5 * 8 / 10, 5.0 * 8 / 10, 8.0 * 128 / 130, 16.0 * 128 / 130, 32.0 * 128 / 130};
  if (generation == 0 || generation >= lane_gbit_s.size() || lanes == 0) {
    return std::nullopt;
  }
  return lane_gbit_s[generation] * lanes / kBits;
}

std::optional<Peak> peak_of(const CommunicatorLinks& links, std::string_view function,
                            std::string_view algorithm) {
  const double nranks = links.nranks;
  const bool is_one_domain = links.domains == 1;
  if (!links.is_within_known || (!is_one_domain && !links.adapters_gb_s)) {
    return std::nullopt;
  }
  const bool is_reduction = function == "AllReduce";
  const bool is_sharded = function == "AllGather" || function == "ReduceScatter";
  const bool is_rooted = function == "Broadcast" || function == "Reduce";
  if (algorithm == "RING" && (is_reduction || is_sharded || is_rooted)) {
    // Each rank gives to the next one what busbw counts, and so does each domain.
    return lesser(links.within_gb_s, links.within_bound, links.adapters_gb_s);
  }
  if (algorithm == "TREE" && is_reduction && links.is_ported) {
    // Within a domain a chain: a rank in its middle gives all data twice, up and down.
    const double factor = 2 * (nranks - 1) / nranks;
    const double chain = links.ranks_per_domain.value_or(0) > 2 ? 2 : 1;
    // Between domains two trees of half the data: of two domains each gives all data once; of more
    // some give twice as much.
    const double tree = links.domains == 2 ? 1 : 2;
    return lesser(
        links.within_gb_s ? std::optional(factor * *links.within_gb_s / chain) : std::nullopt,
        links.within_bound,
        links.adapters_gb_s ? std::optional(factor * *links.adapters_gb_s / tree) : std::nullopt);
  }
  if (algorithm == "NVLS" && is_one_domain && links.is_switched && links.within_gb_s) {
    // The switch adds up: a rank gives its data once, and its part of the sum.
    if (is_reduction) {
      return Peak{2 * (nranks - 1) / (nranks + 1) * *links.within_gb_s, links.within_bound};
    }
    return is_sharded ? std::optional(Peak{*links.within_gb_s, links.within_bound}) : std::nullopt;
  }
  if (function == "AlltoAll" && links.is_ported && links.ranks_per_domain) {
    // A rank gives to each of the others; what goes to other domains passes the adapters.
    const double here = *links.ranks_per_domain;
    const auto between =
        links.adapters_gb_s
            ? std::optional(*links.adapters_gb_s * (nranks - 1) / (here * (nranks - here)))
            : std::nullopt;
    return lesser(links.within_gb_s, links.within_bound, between);
  }
  return std::nullopt;
}

std::vector<std::optional<CommunicatorLinks>> find_links(const model::Traces& traces,
                                                         const match::Matches& matches) {
  std::vector<std::optional<CommunicatorLinks>> links;
  for (const match::Communicator& communicator : matches.communicators) {
    links.push_back(links_of(traces, communicator));
  }
  return links;
}

}  // namespace ringside::metrics
