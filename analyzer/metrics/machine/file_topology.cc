// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/file_topology.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/metrics/machine/machine_health.h"

namespace ringside::metrics {
namespace {

// Switches give all GPUs the same number of links to each other. A GPU with fewer links has lost
// some, and so has a pair with fewer links to each other. Where no switches are seen, most GPUs and
// nearly all pairs must agree on that number.
void find_few_links(const Topology& topology, const NvLinkDomain& domain, const std::string& link,
                    std::vector<TopologyFinding>& findings) {
  constexpr std::size_t kFewest = 3;
  const auto& links = domain.mesh->links;
  std::vector<std::uint32_t> most;
  std::map<std::uint32_t, std::size_t> counts;
  const auto to_switches = [&](std::size_t i) {
    return switch_side(*topology.ranks[domain.ranks[i]].gpu).links;
  };
  bool has_switches = false;
  for (std::size_t i = 0; i < links.size(); ++i) {
    has_switches = has_switches || to_switches(i) > 0;
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    ++counts[most.emplace_back(has_switches ? to_switches(i)
                                            : *std::max_element(links[i].begin(), links[i].end()))];
  }
  const auto usual = has_switches ? std::prev(counts.end())
                                  : std::max_element(counts.begin(), counts.end(),
                                                     [](const auto& one, const auto& other) {
                                                       return one.second < other.second;
                                                     });
  const auto add = [&](const RankGpu& rank, const std::string& who, std::uint32_t count,
                       const std::string& text) {
    findings.push_back({"link-down", who + std::to_string(count) + ' ' + link + text, false,
                        rank.host, rank.gpu->pci});
  };
  if (!has_switches && (usual->second < kFewest || usual->second * 2 <= most.size())) {
    for (std::size_t one = 0; one < links.size(); ++one) {
      for (std::size_t other = 0; other < links.size(); ++other) {
        if (links[one][other] < links[other][one]) {  // a link has two ends
          add(topology.ranks[domain.ranks[one]], topology.ranks[domain.ranks[one]].label + " has ",
              links[one][other],
              "s to " + topology.ranks[domain.ranks[other]].label + ", which has " +
                  std::to_string(links[other][one]) + " to it.");
        }
      }
    }
    return;
  }
  std::vector<std::pair<std::size_t, std::size_t>> odd;
  std::size_t pairs = 0;
  for (std::size_t one = 0; one < links.size() && !has_switches; ++one) {
    for (std::size_t other = one + 1; other < links.size(); ++other) {
      if (most[one] == usual->first && most[other] == usual->first) {
        ++pairs;
        if (links[one][other] != usual->first || links[other][one] != usual->first) {
          odd.emplace_back(one, other);
        }
      }
    }
  }
  if (odd.size() * 4 > pairs) {
    return;  // there are no switches
  }
  for (const auto& [one, other] : odd) {
    const RankGpu& rank = topology.ranks[domain.ranks[one]];
    add(rank,
        rank.label + " and " + topology.ranks[domain.ranks[other]].label + " of " + rank.host +
            " have ",
        std::min(links[one][other], links[other][one]),
        "s to each other; the other pairs have " + std::to_string(usual->first) + '.');
  }
  for (std::size_t i = 0; i < most.size(); ++i) {
    const RankGpu& rank = topology.ranks[domain.ranks[i]];
    if (most[i] < usual->first) {
      const std::string usual_text = std::to_string(usual->first);
      add(rank, rank.label + " of " + rank.host + " has ", most[i],
          has_switches ? "s to switches; others have " + usual_text + '.'
                       : "s to each of the others, which have " + usual_text + " to each other.");
    }
  }
}

}  // namespace

std::pair<std::uint32_t, std::uint32_t> link_range(const Mesh& mesh) {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  for (std::size_t one = 0; one < mesh.links.size(); ++one) {
    for (std::size_t other = 0; other < mesh.links.size(); ++other) {
      if (one != other) {
        least = std::min(least, mesh.links[one][other]);
        most = std::max(most, mesh.links[one][other]);
      }
    }
  }
  return {least == UINT32_MAX ? 0 : least, most};
}

Topology topology_of(const model::TopologyFile& file) {
  Topology topology;
  std::vector<std::vector<MeshGpu>> gpus;  // by domain
  for (const model::TopologyHost& host : file.hosts) {
    HostMachine& machine = topology.hosts.emplace_back();
    machine.host = file.hosts.size() == 1 ? file.source : host.name;
    machine.first = machine.last = &host.machine;
    for (std::size_t i = 0; i < host.machine.gpus.size(); ++i) {
      RankGpu& rank = topology.ranks.emplace_back();
      rank.label = host.labels[i];
      rank.host = machine.host;
      rank.gpu = &host.machine.gpus[i];
      const MeshGpu gpu = {rank.label, rank.host, rank.gpu};
      const std::string name = domain_of(gpu);
      auto domain = std::find_if(topology.domains.begin(), topology.domains.end(),
                                 [&](const NvLinkDomain& one) { return one.name == name; });
      if (domain == topology.domains.end()) {
        domain = topology.domains.insert(domain, NvLinkDomain{name, {}, {}, std::nullopt, {}});
        gpus.emplace_back();
      }
      if (domain->hosts.empty() || domain->hosts.back() != rank.host) {
        domain->hosts.push_back(rank.host);
      }
      domain->ranks.push_back(static_cast<std::uint32_t>(topology.ranks.size() - 1));
      gpus[static_cast<std::size_t>(domain - topology.domains.begin())].push_back(gpu);
    }
  }
  std::vector<Seen> all;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    NvLinkDomain& domain = topology.domains[i];
    domain.mesh = make_mesh(gpus[i], domain.refusal);
    Seen& seen = all.emplace_back(Seen{domain.name, {}});
    seen.facts["number of GPUs"] = std::to_string(domain.ranks.size());
    if (domain.mesh) {
      find_few_links(topology, domain, file.link, topology.findings);
      const auto [least, most] = link_range(*domain.mesh);
      seen.facts[file.link + "s between any two GPUs"] =
          std::to_string(least) + (least == most ? "" : " to " + std::to_string(most));
    }
  }
  for (const std::string& text : differences(all, "hosts", true)) {
    topology.findings.push_back(
        {"topology-differs", "The hosts are not alike: " + text + '.', false});
  }
  return topology;
}

}  // namespace ringside::metrics
