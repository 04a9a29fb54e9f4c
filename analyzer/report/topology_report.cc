// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/topology_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/machine/file_topology.h"
#include "analyzer/model/joined.h"
#include "analyzer/model/natural_order.h"
#include "analyzer/model/pci_distance.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::report {
namespace {

using metrics::HostMachine;
using metrics::Mesh;
using metrics::NvLinkDomain;
using metrics::RankGpu;
using metrics::Topology;

constexpr std::size_t kNamed = 8;      // of a list
constexpr std::size_t kMostShown = 4;  // matrices and trees, for people; programs get all

std::vector<std::string> labels_of(const Topology& topology,
                                   const std::vector<std::uint32_t>& which) {
  std::vector<std::string> labels;
  labels.reserve(which.size());
  for (const std::uint32_t i : which) {
    labels.push_back(topology.ranks[i].label);
  }
  return labels;
}

// "ranks 0-7", or the labels where numbers are not known.
std::string ranks_text(const std::vector<std::string>& labels) {
  const Cell cell = cell_of_ranks(labels);
  const auto* const ranks = std::get_if<Ranks>(&cell);
  return ranks != nullptr ? match::rank_list(*ranks) : model::joined(labels, kNamed);
}

std::string links_text(const Mesh& mesh, const std::string& link) {
  const auto [least, most] = metrics::link_range(mesh);
  if (most == 0) {
    return "no " + link + "s between its GPUs";
  }
  return (least == most ? std::to_string(most)
                        : std::to_string(least) + " to " + std::to_string(most)) +
         ' ' + link + "s between any two of its GPUs";
}

std::string kind_text(const NvLinkDomain& domain, std::optional<metrics::MeshKind> assumed) {
  const metrics::MeshKind kind = assumed.value_or(domain.mesh->kind);
  return std::string(metrics::kMeshKindNames[static_cast<std::size_t>(kind)]);
}

Table domain_table(const Topology& topology, std::optional<metrics::MeshKind> assumed) {
  const auto of_pair = [](auto value) {
    return [=](const NvLinkDomain& domain) {
      return domain.mesh && domain.ranks.size() > 1 ? cell_of(value(domain)) : Cell();
    };
  };
  return table_of(
      "domains", "NVLink domains: ranks of one host, or of one fabric clique", topology.domains,
      {{"domain", "domain", &NvLinkDomain::name},
       {"hosts", "hosts", Shown::kInteger, [](auto& domain) { return domain.hosts.size(); }},
       {"ranks", "ranks", Shown::kRanks,
        [&](auto& domain) { return cell_of_ranks(labels_of(topology, domain.ranks)); }},
       {"gpu", "GPU",
        [&](auto& domain) {
          std::set<std::string> models;
          for (const std::uint32_t rank : domain.ranks) {
            models.insert(topology.ranks[rank].gpu->name);
          }
          return text_cell(model::joined(models, kNamed));
        }},
       {"kind", "kind", of_pair([=](auto& domain) { return kind_text(domain, assumed); })},
       {"links_min", "links", Shown::kInteger, "least",
        of_pair([](auto& domain) { return metrics::link_range(*domain.mesh).first; })},
       {"links_max", "links", Shown::kInteger, "most",
        of_pair([](auto& domain) { return metrics::link_range(*domain.mesh).second; })}});
}

Cell nvlink_rate(const topology::Gpu& gpu) {
  std::uint64_t sum = 0;
  for (const topology::NvLink& link : gpu.links) {
    if (link.is_up == true) {
      const auto rate = metrics::data_rate_mbytes_s(link);
      if (!rate) {
        return {};
      }
      sum += *rate;
    }
  }
  return static_cast<double>(sum) / 1000;
}

Cell pcie_text(const std::optional<std::uint32_t>& generation,
               const std::optional<std::uint32_t>& width) {
  return generation && width
             ? Cell("gen " + std::to_string(*generation) + " x" + std::to_string(*width))
             : Cell();
}

const HostMachine* host_named(const Topology& topology, const std::string& host) {
  const auto found = std::lower_bound(topology.hosts.begin(), topology.hosts.end(), host,
                                      [](const HostMachine& machine, const std::string& name) {
                                        return model::NaturalLess()(machine.host, name);
                                      });
  return found == topology.hosts.end() || found->host != host ? nullptr : &*found;
}

// The adapters that are nearest to a GPU, and how near: "mlx5_0 (PIX)".
std::string nearest_of(const std::map<std::string, std::vector<std::string>>& by_distance) {
  for (const char* const distance : {"PIX", "PXB", "PHB", "NODE", "SYS"}) {
    if (const auto found = by_distance.find(distance); found != by_distance.end()) {
      return model::joined(found->second, kNamed) + " (" + distance + ')';
    }
  }
  return {};
}

// By rank. A file of another tool knows it; of traces the PCI paths are compared.
std::vector<std::string> nearest_adapters(const Topology& topology,
                                          const model::TopologyFile* file) {
  std::vector<std::string> nearest;
  for (const model::TopologyHost& host :
       file != nullptr ? file->hosts : std::vector<model::TopologyHost>()) {
    std::transform(host.adapters.begin(), host.adapters.end(), std::back_inserter(nearest),
                   nearest_of);
  }
  for (std::size_t i = nearest.size(); i < topology.ranks.size(); ++i) {
    const RankGpu& rank = topology.ranks[i];
    const HostMachine* const host = host_named(topology, rank.host);
    std::map<std::string, std::vector<std::string>> by_distance;
    for (const topology::Port& port :
         rank.gpu != nullptr && host != nullptr && host->first != nullptr
             ? host->first->ports
             : std::vector<topology::Port>()) {
      by_distance[model::pci_distance(*rank.gpu, port)].push_back(port.device);
    }
    nearest.push_back(nearest_of(by_distance));
  }
  return nearest;
}

Table gpu_table(const Topology& topology, const model::TopologyFile* file) {
  const std::string link = file != nullptr ? file->link : "NVLink";
  const std::vector<std::string> nearest = nearest_adapters(topology, file);
  std::vector<std::uint32_t> with_gpus;
  for (std::uint32_t i = 0; i < topology.ranks.size(); ++i) {
    if (topology.ranks[i].gpu != nullptr) {
      with_gpus.push_back(i);
    }
  }
  const auto gpu = [&](auto value) {
    return [&topology, value](std::uint32_t i) {
      return cell_of(std::invoke(value, *topology.ranks[i].gpu));
    };
  };
  using Gpu = topology::Gpu;
  return table_of(
      "gpus", "GPUs that ranks use", with_gpus,
      {{"rank", "rank", Shown::kRank, [&](auto i) { return topology.ranks[i].label; }},
       {"host", "host", [&](auto i) { return topology.ranks[i].host; }},
       {"pci", "PCI", gpu([](auto& one) { return text_cell(one.pci); })},
       {"gpu", "GPU", gpu([](auto& one) { return text_cell(one.name); })},
       {"links_up", link + "s", Shown::kInteger, "up", gpu([](auto& one) {
          return std::count_if(one.links.begin(), one.links.end(),
                               [](auto& nvlink) { return nvlink.is_up == true; });
        })},
       {"links", link + "s", Shown::kInteger, "all",
        gpu([](auto& one) { return one.links.size(); })},
       {"nvlink_gbytes_s", "NVLink", Shown::kNumber, "GB/s", 0, gpu(nvlink_rate)},
       {"pcie", "PCIe",
        gpu([](auto& one) { return pcie_text(one.pcie_generation, one.pcie_width); })},
       {"most_pcie", "PCIe at most",
        gpu([](auto& one) { return pcie_text(one.most_pcie_generation, one.most_pcie_width); })},
       {"numa_node", "node", Shown::kInteger, gpu(&Gpu::numa_node)},
       {"nearest_adapters", "nearest adapters", [&](auto i) { return text_cell(nearest[i]); }},
       {"uuid", "UUID", Shown::kNot, gpu([](auto& one) { return text_cell(one.uuid); })}});
}

// Of a file that has no more: which node and adapters are near each GPU.
Table near_table(const Topology& topology, const model::TopologyFile& file) {
  const std::vector<std::string> nearest = nearest_adapters(topology, &file);
  return table_of(
      "gpus", "GPUs, and what is near them", topology.ranks,
      {{"rank", "GPU", &RankGpu::label},
       {"host", "host", &RankGpu::host},
       {"numa_node", "node", Shown::kInteger, [](auto& rank) { return rank.gpu->numa_node; }},
       {"nearest_adapters", "nearest adapters", [&](auto& rank) {
          return text_cell(nearest[static_cast<std::size_t>(&rank - &topology.ranks[0])]);
        }}});
}

Table port_table(const Topology& topology) {
  using Port = topology::Port;
  std::vector<std::pair<const HostMachine*, const Port*>> ports;
  for (const HostMachine& host : topology.hosts) {
    for (std::size_t i = 0; host.first != nullptr && i < host.first->ports.size(); ++i) {
      ports.emplace_back(&host, &host.first->ports[i]);
    }
  }
  return table_of(
      "ports", "Ports of InfiniBand and RoCE adapters", ports,
      {{"host", "host", [](auto& one) { return one.first->host; }},
       {"device", "device", [](auto& one) { return one.second->device; }},
       {"port", "port", Shown::kInteger, [](auto& one) { return one.second->number; }},
       {"link_layer", "link", [](auto& one) { return text_cell(one.second->link_layer); }},
       {"state", "state", [](auto& one) { return text_cell(one.second->state); }},
       {"rate_gbit_s", "rate", Shown::kNumber, "Gb/s", 0,
        [](auto& one) {
          const auto& rate = one.second->rate_mbit_s;
          return rate ? Cell(static_cast<double>(*rate) / 1000) : Cell();
        }},
       {"numa_node", "node", Shown::kInteger, [](auto& one) { return one.second->numa_node; }},
       {"pci", "PCI", [](auto& one) { return text_cell(one.second->pci); }}});
}

struct Leaf {
  std::string path;  // of PCI
  std::string text;
};

// One row a line of the tree: hosts, PCI roots and bridges, devices, each below what it hangs on.
Table tree_table(const Topology& topology, std::size_t most_hosts) {
  Table table = {"tree", "Hosts, PCI bridges and devices", {{"tree", ""}}, {}};
  table.is_whole = true;
  for (const HostMachine& host : topology.hosts) {
    if (host.first == nullptr) {
      continue;
    }
    if (most_hosts-- == 0) {
      break;
    }
    std::vector<Leaf> leaves;
    for (const topology::Gpu& gpu : host.first->gpus) {
      std::string text = "GPU " + std::to_string(gpu.index) + "  " + gpu.pci + "  " + gpu.name;
      for (const RankGpu& rank : topology.ranks) {
        if (rank.host == host.host && rank.gpu != nullptr && rank.gpu->pci == gpu.pci) {
          text += "  " + rank.label;
        }
      }
      leaves.push_back({gpu.pci_path, std::move(text)});
    }
    for (const topology::Port& port : host.first->ports) {
      leaves.push_back({port.pci_path, port.device + " port " + std::to_string(port.number) + "  " +
                                           port.pci + "  " + port.link_layer + "  " + port.state});
    }
    std::stable_sort(leaves.begin(), leaves.end(),
                     [](const Leaf& one, const Leaf& other) { return one.path < other.path; });
    table.rows.push_back({host.host});
    std::string above;  // the bridges that have rows already
    for (const Leaf& leaf : leaves) {
      std::string indent = "  ";
      for (std::size_t at = leaf.path.find('/'); at != std::string::npos;
           at = leaf.path.find('/', at + 1)) {
        const std::string bridge = leaf.path.substr(0, at);
        if (!(above + '/').starts_with(bridge + '/')) {
          table.rows.push_back({indent + bridge.substr(bridge.rfind('/') + 1)});
          above = bridge;
        }
        indent += "  ";
      }
      table.rows.push_back({indent + leaf.text});
    }
  }
  return table;
}

void say_domains(const Topology& topology, std::optional<metrics::MeshKind> assumed,
                 const std::string& link, Document& document) {
  for (const NvLinkDomain& domain : topology.domains) {
    const std::string ranks = ranks_text(labels_of(topology, domain.ranks));
    if (domain.mesh && domain.ranks.size() > 1) {
      document.sentences.push_back(domain.name + ", " + ranks + ": " + kind_text(domain, assumed) +
                                   ", " + links_text(*domain.mesh, link) + '.');
    } else if (domain.mesh) {
      document.sentences.push_back(domain.name + ", " + ranks + ": one GPU.");
    } else {
      document.findings.push_back({Severity::kError, "device-shared", domain.refusal + '.'});
    }
  }
}

void say_agreement(const Topology& topology, Document& document) {
  const bool differs =
      std::any_of(topology.findings.begin(), topology.findings.end(),
                  [](const auto& finding) { return finding.kind == "topology-differs"; });
  std::size_t known = 0;
  std::map<std::string, std::vector<std::uint32_t>> unknown;  // by the reason
  for (std::uint32_t i = 0; i < topology.ranks.size(); ++i) {
    const RankGpu& rank = topology.ranks[i];
    if (rank.gpu != nullptr) {
      ++known;
    } else {
      unknown[rank.unknown].push_back(i);
    }
  }
  for (const auto& [reason, ranks] : unknown) {
    document.notes.push_back(ranks_text(labels_of(topology, ranks)) + ": " + reason);
  }
  if (known == 0) {
    document.sentences.emplace_back("The traces contain no topology.");
  } else if (differs) {
    document.sentences.emplace_back("Not all ranks saw the same; the findings say who differs.");
  } else if (known < topology.ranks.size()) {
    document.sentences.push_back("All " + std::to_string(known) + " ranks of " +
                                 std::to_string(topology.ranks.size()) +
                                 " that know their topology saw the same.");
  } else {
    document.sentences.emplace_back("All ranks saw the same.");
  }
}

void add_findings(const Topology& topology, Document& document) {
  for (const metrics::TopologyFinding& finding : topology.findings) {
    document.findings.push_back(
        {finding.is_note ? Severity::kNote : Severity::kWarning, finding.kind, finding.text});
  }
}

void add_matrices(const Topology& topology, const std::string& link, bool is_for_people,
                  Document& document) {
  std::size_t number = 0;
  for (const NvLinkDomain& domain : topology.domains) {
    ++number;
    if (domain.mesh && domain.ranks.size() > 1 && (!is_for_people || number <= kMostShown)) {
      document.tables.push_back(
          mesh_table(*domain.mesh, labels_of(topology, domain.ranks),
                     "matrix" + (number == 1 ? "" : "_" + std::to_string(number)),
                     link + "s between the GPUs of " + domain.name));
    }
  }
  if (is_for_people && topology.domains.size() > kMostShown) {
    document.notes.push_back("the matrices and trees of " +
                             std::to_string(topology.domains.size() - kMostShown) +
                             " more domains are in --format json");
  }
}

}  // namespace

Table mesh_table(const Mesh& mesh, const std::vector<std::string>& labels, const std::string& key,
                 const std::string& title) {
  Table table = {key, title, {{"from", "from"}}, {}};
  table.is_whole = true;
  for (const std::string& label : labels) {
    table.columns.push_back({label, label, Shown::kInteger});
  }
  for (std::size_t one = 0; one < labels.size(); ++one) {
    std::vector<Cell> row = {labels[one]};
    for (std::size_t other = 0; other < labels.size(); ++other) {
      Cell& cell = row.emplace_back();
      if (one != other) {
        cell = std::uint64_t{mesh.links[one][other]};
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Document topology_file_document(const model::TopologyFile& file, bool is_for_people,
                                std::optional<metrics::MeshKind> assumed) {
  const Topology topology = metrics::topology_of(file);
  Document document{"topology"};
  say_domains(topology, assumed, file.link, document);
  add_findings(topology, document);
  document.notes = file.notes;
  if (!file.tells_switches) {
    document.notes.emplace_back(
        "nvidia-smi does not distinguish direct links from links through switches: what is fully "
        "connected here may be switched");
  }
  document.tables.push_back(domain_table(topology, assumed));
  add_matrices(topology, file.link, is_for_people, document);
  if (file.tells_switches) {
    document.tables.push_back(gpu_table(topology, &file));
    document.tables.push_back(port_table(topology));
    document.tables.push_back(tree_table(topology, is_for_people ? kMostShown : SIZE_MAX));
  } else {
    document.tables.push_back(near_table(topology, file));
  }
  return document;
}

Document topology_document(const Topology& topology, bool is_for_people,
                           std::optional<metrics::MeshKind> assumed) {
  Document document{"topology"};
  say_domains(topology, assumed, "NVLink", document);
  say_agreement(topology, document);
  if (assumed) {
    document.notes.emplace_back(
        "the kind of each domain is not what was read, but what --assume-kind says");
  }
  add_findings(topology, document);
  document.tables.push_back(domain_table(topology, assumed));
  add_matrices(topology, "NVLink", is_for_people, document);
  document.tables.push_back(gpu_table(topology, nullptr));
  document.tables.push_back(port_table(topology));
  document.tables.push_back(tree_table(topology, is_for_people ? kMostShown : SIZE_MAX));
  std::vector<std::string> once;
  for (const HostMachine& host : topology.hosts) {
    if (host.first != nullptr && host.first == host.last) {
      once.push_back(host.host);
    }
  }
  if (!once.empty()) {
    document.notes.push_back("read once, so no counter's increase is known: " +
                             model::joined(once, kNamed));
  }
  return document;
}

}  // namespace ringside::report
