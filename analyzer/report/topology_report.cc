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

Cell known_text(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

// "ranks 0-7", or the labels where numbers are not known.
std::string ranks_text(const Topology& topology, const std::vector<std::uint32_t>& which) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> labels;
  for (const std::uint32_t i : which) {
    const RankGpu& rank = topology.ranks[i];
    labels.push_back(rank.label);
    if (rank.rank) {
      numbers.push_back(*rank.rank);
    }
  }
  return numbers.size() == labels.size() ? match::rank_list(numbers)
                                         : model::joined(labels, kNamed);
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

std::vector<std::string> labels_of(const Topology& topology, const NvLinkDomain& domain) {
  std::vector<std::string> labels;
  for (const std::uint32_t rank : domain.ranks) {
    labels.push_back(topology.ranks[rank].label);
  }
  return labels;
}

Table domain_table(const Topology& topology, std::optional<metrics::MeshKind> assumed) {
  Table table = {"domains",
                 "NVLink domains: ranks of one host, or of one fabric clique",
                 {{"domain", "domain"},
                  {"hosts", "hosts", Shown::kInteger},
                  {"ranks", "ranks"},
                  {"gpu", "GPU"},
                  {"kind", "kind"},
                  {"links_min", "links", Shown::kInteger, "least"},
                  {"links_max", "links", Shown::kInteger, "most"}},
                 {}};
  for (const NvLinkDomain& domain : topology.domains) {
    std::set<std::string> models;
    for (const std::uint32_t rank : domain.ranks) {
      models.insert(topology.ranks[rank].gpu->name);
    }
    const bool is_pair = domain.mesh && domain.ranks.size() > 1;
    const auto [least, most] = domain.mesh ? metrics::link_range(*domain.mesh) : std::pair(0U, 0U);
    table.rows.push_back({domain.name, std::uint64_t{domain.hosts.size()},
                          ranks_text(topology, domain.ranks),
                          known_text(model::joined(models, kNamed)),
                          is_pair ? Cell(kind_text(domain, assumed)) : Cell(),
                          is_pair ? Cell(std::uint64_t{least}) : Cell(),
                          is_pair ? Cell(std::uint64_t{most}) : Cell()});
  }
  return table;
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
  Table table = {"gpus",
                 "GPUs that ranks use",
                 {{"rank", "rank", Shown::kRank},
                  {"host", "host"},
                  {"pci", "PCI"},
                  {"gpu", "GPU"},
                  {"links_up", link + "s", Shown::kInteger, "up"},
                  {"links", link + "s", Shown::kInteger, "all"},
                  {"nvlink_gbytes_s", "NVLink", Shown::kNumber, "GB/s", 0},
                  {"pcie", "PCIe"},
                  {"most_pcie", "PCIe at most"},
                  {"numa_node", "node", Shown::kInteger},
                  {"nearest_adapters", "nearest adapters"},
                  {"uuid", "UUID", Shown::kNot}},
                 {}};
  for (std::size_t i = 0; i < topology.ranks.size(); ++i) {
    const RankGpu& rank = topology.ranks[i];
    if (rank.gpu == nullptr) {
      continue;
    }
    const topology::Gpu& gpu = *rank.gpu;
    const auto up = std::count_if(gpu.links.begin(), gpu.links.end(),
                                  [](const topology::NvLink& one) { return one.is_up == true; });
    table.rows.push_back({rank.label, rank.host, known_text(gpu.pci), known_text(gpu.name),
                          static_cast<std::uint64_t>(up), std::uint64_t{gpu.links.size()},
                          nvlink_rate(gpu), pcie_text(gpu.pcie_generation, gpu.pcie_width),
                          pcie_text(gpu.most_pcie_generation, gpu.most_pcie_width),
                          cell_of(gpu.numa_node), known_text(nearest[i]), known_text(gpu.uuid)});
  }
  return table;
}

// Of a file that has no more: which node and adapters are near each GPU.
Table near_table(const Topology& topology, const model::TopologyFile& file) {
  Table table = {"gpus",
                 "GPUs, and what is near them",
                 {{"rank", "GPU"},
                  {"host", "host"},
                  {"numa_node", "node", Shown::kInteger},
                  {"nearest_adapters", "nearest adapters"}},
                 {}};
  const std::vector<std::string> nearest = nearest_adapters(topology, &file);
  for (std::size_t i = 0; i < topology.ranks.size(); ++i) {
    const RankGpu& rank = topology.ranks[i];
    table.rows.push_back(
        {rank.label, rank.host, cell_of(rank.gpu->numa_node), known_text(nearest[i])});
  }
  return table;
}

Table port_table(const Topology& topology) {
  Table table = {"ports",
                 "Ports of InfiniBand and RoCE adapters",
                 {{"host", "host"},
                  {"device", "device"},
                  {"port", "port", Shown::kInteger},
                  {"link_layer", "link"},
                  {"state", "state"},
                  {"rate_gbit_s", "rate", Shown::kNumber, "Gb/s", 0},
                  {"numa_node", "node", Shown::kInteger},
                  {"pci", "PCI"}},
                 {}};
  for (const HostMachine& host : topology.hosts) {
    for (const topology::Port& port :
         host.first != nullptr ? host.first->ports : std::vector<topology::Port>()) {
      table.rows.push_back(
          {host.host, port.device, std::uint64_t{port.number}, known_text(port.link_layer),
           known_text(port.state),
           port.rate_mbit_s ? Cell(static_cast<double>(*port.rate_mbit_s) / 1000) : Cell(),
           cell_of(port.numa_node), known_text(port.pci)});
    }
  }
  return table;
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
    const std::string ranks = ranks_text(topology, domain.ranks);
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
    document.notes.push_back(ranks_text(topology, ranks) + ": " + reason);
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
          mesh_table(*domain.mesh, labels_of(topology, domain),
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
  Document document;
  document.command = "topology";
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
  Document document;
  document.command = "topology";
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
