// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/peak.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/machine/near_ports.h"

namespace ringside::metrics {
namespace {

constexpr double kMbytesPerGb = 1000;
// All groups of so many ranks are looked at; more ranks than that are not joined by direct links.
constexpr std::size_t kMostMeshRanks = 16;

struct DomainRank {
  MeshGpu gpu;
  const model::TraceFile* file = nullptr;
};

// NCCL was told to leave NVLink or PCIe between GPUs unused, so the model does not say what it
// uses.
bool is_p2p_limited(const model::Process& process) {
  const std::string* const disabled = nccl_variable(process, "NCCL_P2P_DISABLE");
  return (disabled != nullptr && *disabled != "0") ||
         nccl_variable(process, "NCCL_P2P_LEVEL") != nullptr;
}

// The rate of all adapters of a domain together. Ranks of a host share them.
std::optional<double> adapters_of(const std::vector<DomainRank>& ranks) {
  std::set<std::pair<std::string, std::string>> counted;
  double sum_gb_s = 0;
  for (const DomainRank& rank : ranks) {
    const auto ports = near_ports(*rank.file, *rank.gpu.gpu);
    if (!ports) {
      return std::nullopt;
    }
    for (const topology::Port* const port : *ports) {
      if (!port->rate_mbit_s) {
        return std::nullopt;
      }
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

// The rates that single ranks can give to the others of their domain.
struct RankRates {
  double least_gb_s = std::numeric_limits<double>::infinity();
  double most_gb_s = 0;
  double mean_gb_s = 0;
};

std::optional<RankRates> rates_of_ranks(const std::vector<DomainRank>& ranks, const Mesh& mesh) {
  RankRates rates;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<bool> is_in(ranks.size());
    is_in[i] = true;
    const auto cut = cut_of(ranks, mesh, is_in);
    if (!cut) {
      return std::nullopt;
    }
    rates.least_gb_s = std::min(rates.least_gb_s, cut->gb_s);
    rates.most_gb_s = std::max(rates.most_gb_s, cut->gb_s);
    rates.mean_gb_s += cut->gb_s / static_cast<double>(ranks.size());
  }
  return rates;
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
    const auto rates = rates_of_ranks(ranks, *mesh);
    if (!within || !rates) {
      links.is_within_known = false;
      return true;
    }
    if (!links.within_gb_s || within->gb_s < *links.within_gb_s) {
      links.within_gb_s = within->gb_s;
      links.within_bound = within->bound;
    }
    links.mean_gb_s = std::min(links.mean_gb_s.value_or(rates->mean_gb_s), rates->mean_gb_s);
    links.is_even = links.is_even && is_ported && rates->least_gb_s == rates->most_gb_s;
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

// The terms of docs/metrics.md: n ranks on d domains, h of them on each.
class Model {
 public:
  explicit Model(const CommunicatorLinks& links)
      : links_(links),
        n_(links.nranks),
        d_(links.domains),
        h_(links.ranks_per_domain ? std::optional<double>(*links.ranks_per_domain) : std::nullopt),
        f_(2 * (n_ - 1) / n_) {}

  std::optional<Peak> all_reduce(std::string_view algorithm) const {
    // The switch adds up: a rank gives its data once, and its part of the sum.
    const bool has_sharp = links_.is_switched && links_.within_gb_s && h_;
    if (algorithm == "RING") return lesser(1, 1);
    if (algorithm == "TREE") return lesser(chain(), f_ / tree());
    if (algorithm == "COLLNET_CHAIN") return lesser(chain(), f_);
    if (algorithm == "NVLS" && has_sharp) return lesser(f_ * *h_ / (*h_ + 1), f_);
    if (algorithm == "NVLS_TREE" && has_sharp) return lesser(f_ * *h_ / (*h_ + 1), f_ / tree());
    if (algorithm == "COLLNET_DIRECT" && links_.is_ported && h_) {
      return lesser(*h_ > 1 ? f_ * *h_ / (2 * (*h_ - 1)) : 0, f_);
    }
    return std::nullopt;
  }

  // These are of AllGather and ReduceScatter.
  std::optional<Peak> sharded(std::string_view algorithm) const {
    if (algorithm == "RING") return lesser(1, 1);
    const bool is_nvls = algorithm == "NVLS" && links_.is_switched && links_.within_gb_s;
    if (!h_ || !links_.is_ported ||
        (!is_nvls && algorithm != "COLLNET_DIRECT" && algorithm != "PAT")) {
      return std::nullopt;
    }
    // A rank needs a part of each rank, of which its rank of the other domains may pass its own
    // adapter; a domain needs those of the other domains once.
    return lesser(n_ > d_ ? (n_ - 1) / (n_ - d_) : 0, d_ > 1 ? (n_ - 1) / (n_ - *h_) : 0);
  }

  std::optional<Peak> exchange(std::string_view function) const {
    if (!links_.is_ported || !h_) return std::nullopt;
    if (function == "AlltoAll") {
      // A rank gives to each of the others; what goes to other domains passes the adapters.
      return lesser(1, d_ > 1 ? (n_ - 1) / (*h_ * (n_ - *h_)) : 0);
    }
    // One rank alone may have a better port than the least.
    if (!links_.is_even) return std::nullopt;
    if (function == "Gather" || function == "Scatter") {
      return lesser(1, d_ > 1 ? (n_ - 1) / (n_ - *h_) : 0);
    }
    return d_ == 1 ? lesser(1, 0) : std::nullopt;
  }

  // The busbw that both parts allow, each with its factor.
  std::optional<Peak> lesser(double of_within, double of_adapters) const {
    const auto within =
        links_.within_gb_s
            ? std::optional(Peak{of_within * *links_.within_gb_s, links_.within_bound})
            : std::nullopt;
    const auto between = links_.adapters_gb_s
                             ? std::optional(Peak{of_adapters * *links_.adapters_gb_s, "adapters"})
                             : std::nullopt;
    return within && (!between || within->busbw_gb_s <= between->busbw_gb_s) ? within : between;
  }

 private:
  // Within a domain a chain: of a port, a rank in its middle gives all data twice, up and down. Of
  // direct links, which may lie in chains of other orders, all ranks together do, but for both
  // ends.
  double chain() const {
    const double h = h_.value_or(0);
    if (links_.is_ported || h < 2 || !links_.mean_gb_s || !(*links_.within_gb_s > 0)) {
      return f_ / (h > 2 ? 2 : 1);
    }
    const double of_all = *links_.mean_gb_s * h / (2 * (h - 1)) / *links_.within_gb_s;
    return f_ * std::min(1.0, of_all);
  }

  // Between domains two trees of half the data: of two domains each gives all data once; of more
  // some give twice as much.
  double tree() const { return d_ == 2 ? 1 : 2; }

  const CommunicatorLinks& links_;
  const double n_, d_;
  const std::optional<double> h_;
  const double f_;
};

}  // namespace

bool has_machines(const model::Traces& traces) {
  return std::any_of(traces.files.begin(), traces.files.end(),
                     [](const model::TraceFile& file) { return !file.machines.empty(); });
}

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
  if (!links.is_within_known || (links.domains > 1 && !links.adapters_gb_s)) {
    return std::nullopt;
  }
  const Model model(links);
  if (function == "AllReduce") {
    return model.all_reduce(algorithm);
  }
  if (function == "AllGather" || function == "ReduceScatter") {
    return model.sharded(algorithm);
  }
  if (function == "Broadcast" || function == "Reduce") {
    return algorithm == "RING" ? model.lesser(1, 1) : std::nullopt;
  }
  if (function == "AlltoAll" || function == "Gather" || function == "Scatter" ||
      function == kSendRecv || function == "SendRecv ring") {
    return model.exchange(function);
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
