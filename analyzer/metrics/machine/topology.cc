// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/topology.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/machine/machine_health.h"
#include "analyzer/model/natural_order.h"

namespace ringside::metrics {
namespace {

using topology::Machine;

std::string why_unread(const model::TraceFile& file) {
  if (file.machines.empty()) {
    return "the trace has no topology (a profile, RINGSIDE_TOPOLOGY=0, or an older plugin)";
  }
  return "the topology could not be read: " + file.machines.rbegin()->second.reason;
}

const topology::Gpu* find_in(const Machine& machine, const model::Context& context) {
  const auto found =
      std::find_if(machine.gpus.begin(), machine.gpus.end(), [&](const topology::Gpu& gpu) {
        return (!gpu.uuid.empty() && gpu.uuid == context.gpu_uuid) ||
               (!gpu.pci.empty() && gpu.pci == context.gpu_pci);
      });
  return found == machine.gpus.end() ? nullptr : &*found;
}

struct UsedGpu {
  const model::Context* context = nullptr;  // of the largest communicator on that GPU
  std::uint32_t nranks = 0;
};

// One rank for each GPU that a process uses.
void add_rank_gpus(const model::TraceFile& file, std::uint32_t number,
                   std::vector<RankGpu>& ranks) {
  std::map<std::string, UsedGpu> used;  // by address, or UUID
  for (const auto& [context_number, context] : file.contexts) {
    if (context_number == 0) {
      continue;
    }
    UsedGpu& gpu = used[context.gpu_pci.empty() ? context.gpu_uuid : context.gpu_pci];
    const std::uint32_t nranks = context.nranks.value_or(0);
    if (gpu.context == nullptr || (nranks > gpu.nranks && context.rank)) {
      gpu = {&context, nranks};
    }
  }
  if (used.size() > 1) {
    used.erase("");  // a communicator whose GPU is not known is on one of the others
  }
  const Machine* const machine = first_reading(file);
  for (const auto& [address, gpu] : used) {
    RankGpu rank;
    rank.file = number;
    rank.host = host_of(file.process);
    if (file.process.launcher_rank && used.size() == 1) {
      rank.rank = static_cast<std::uint32_t>(*file.process.launcher_rank);
    } else {
      rank.rank = gpu.context->rank;
    }
    rank.label = rank.rank ? "rank " + std::to_string(*rank.rank)
                           : file.process.host + ':' + std::to_string(file.process.pid);
    if (machine == nullptr) {
      rank.unknown = why_unread(file);
    } else if (address.empty()) {
      rank.unknown = "the trace does not say which GPU the rank uses";
    } else if (rank.gpu = find_in(*machine, *gpu.context); rank.gpu == nullptr) {
      rank.unknown = "NVML does not show the GPU " + address;
    }
    ranks.push_back(std::move(rank));
  }
}

MeshGpu mesh_gpu(const RankGpu& rank) {
  return {rank.label, rank.host, rank.gpu};
}

std::vector<NvLinkDomain> find_domains(const std::vector<RankGpu>& ranks) {
  std::vector<NvLinkDomain> domains;
  std::map<std::string, std::size_t> by_name;
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].gpu == nullptr) {
      continue;
    }
    const std::string name = domain_of(mesh_gpu(ranks[i]));
    const auto [known, is_new] = by_name.emplace(name, domains.size());
    if (is_new) {
      domains.push_back({name, {}, {}, std::nullopt, {}});
    }
    NvLinkDomain& domain = domains[known->second];
    domain.ranks.push_back(i);
    if (std::find(domain.hosts.begin(), domain.hosts.end(), ranks[i].host) == domain.hosts.end()) {
      domain.hosts.push_back(ranks[i].host);
    }
  }
  for (NvLinkDomain& domain : domains) {
    std::vector<MeshGpu> gpus;
    for (const std::uint32_t rank : domain.ranks) {
      gpus.push_back(mesh_gpu(ranks[rank]));
    }
    domain.mesh = make_mesh(gpus, domain.refusal);
  }
  return domains;
}

std::vector<HostMachine> find_hosts(const model::Traces& traces) {
  std::map<std::string, HostMachine> hosts;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> moments;
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    const std::string name = host_of(file.process);
    HostMachine& host = hosts[name];
    host.host = name;
    host.files.push_back(i);
    auto& [first_ns, last_ns] = moments[name];
    for (const auto& [ts_ns, machine] : file.machines) {
      if (machine.state != topology::State::kComplete) {
        continue;
      }
      const std::int64_t at_ns =
          ts_ns + (file.process.base_time_s - traces.files[0].process.base_time_s) * 1'000'000'000;
      if (host.first == nullptr || at_ns < first_ns) {
        host.first = &machine;
        first_ns = at_ns;
      }
      if (host.last == nullptr || at_ns >= last_ns) {
        host.last = &machine;
        last_ns = at_ns;
      }
    }
    if (host.first == nullptr && host.trouble.empty()) {
      host.trouble = why_unread(file);
    }
  }
  std::vector<HostMachine> sorted;
  sorted.reserve(hosts.size());
  for (auto& [name, host] : hosts) {
    sorted.push_back(std::move(host));
  }
  std::sort(sorted.begin(), sorted.end(), [](const HostMachine& one, const HostMachine& other) {
    return model::NaturalLess()(one.host, other.host);
  });
  return sorted;
}

// Compares the readings of ranks of one host: they must agree on what they all see.
void compare_ranks(const model::Traces& traces, const Topology& topology,
                   std::vector<TopologyFinding>& findings) {
  std::map<std::string_view, std::vector<Seen>> by_host;
  for (const RankGpu& rank : topology.ranks) {
    if (const Machine* const machine = first_reading(traces.files[rank.file])) {
      by_host[rank.host].push_back({rank.label, facts_by_address(*machine)});
    }
  }
  for (const HostMachine& host : topology.hosts) {
    for (const std::string& text : differences(by_host[host.host], "ranks", false)) {
      findings.push_back({"topology-differs",
                          "The ranks of host " + host.host + " do not see the same: " + text + '.',
                          false});
    }
  }
}

void compare_hosts(const Topology& topology, std::vector<TopologyFinding>& findings) {
  std::vector<Seen> all;
  for (const HostMachine& host : topology.hosts) {
    if (host.first != nullptr) {
      all.push_back({"host " + host.host, facts_by_index(*host.first)});
    }
  }
  for (const std::string& text : differences(all, "hosts", true)) {
    findings.push_back({"topology-differs", "The hosts are not alike: " + text + '.', false});
  }
}

}  // namespace

const topology::Gpu* gpu_of(const model::TraceFile& file, std::uint32_t context) {
  const Machine* const machine = first_reading(file);
  const auto found = file.contexts.find(context);
  return machine == nullptr || found == file.contexts.end() ? nullptr
                                                            : find_in(*machine, found->second);
}

const Machine* first_reading(const model::TraceFile& file) {
  for (const auto& [ts_ns, machine] : file.machines) {
    if (machine.state == topology::State::kComplete) {
      return &machine;
    }
  }
  return nullptr;
}

std::string host_of(const model::Process& process) {
  const std::string* const given = nccl_variable(process, "NCCL_HOSTID");
  return given == nullptr ? process.host : *given;
}

const std::string* nccl_variable(const model::Process& process, const char* name) {
  const auto found = process.nccl_environment.find(name);
  return found == process.nccl_environment.end() || found->second.empty() ? nullptr
                                                                          : &found->second;
}

std::string port_name(const topology::Port& port) {
  return port.device + " port " + std::to_string(port.number);
}

Topology find_topology(const model::Traces& traces) {
  Topology topology;
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    add_rank_gpus(traces.files[i], i, topology.ranks);
  }
  std::stable_sort(topology.ranks.begin(), topology.ranks.end(),
                   [](const RankGpu& one, const RankGpu& other) {
                     const auto key = [](const RankGpu& rank) {
                       return std::tuple(!rank.rank, rank.rank.value_or(0), rank.host, rank.file);
                     };
                     return key(one) < key(other);
                   });
  topology.domains = find_domains(topology.ranks);
  topology.hosts = find_hosts(traces);
  compare_ranks(traces, topology, topology.findings);
  compare_hosts(topology, topology.findings);
  for (const HostMachine& host : topology.hosts) {
    if (host.first != nullptr) {
      find_trouble(host.host, *host.first, *host.last, topology.findings);
    }
  }
  return topology;
}

std::optional<Mesh> mesh_of(const Topology& topology, const std::vector<std::uint32_t>& ranks,
                            std::string& refusal) {
  std::vector<MeshGpu> gpus;
  for (const std::uint32_t rank : ranks) {
    const auto found =
        std::find_if(topology.ranks.begin(), topology.ranks.end(),
                     [&](const RankGpu& candidate) { return candidate.rank == rank; });
    if (found == topology.ranks.end()) {
      std::vector<std::uint32_t> known;
      for (const RankGpu& candidate : topology.ranks) {
        if (candidate.rank) {
          known.push_back(*candidate.rank);
        }
      }
      std::sort(known.begin(), known.end());
      refusal = "There is no rank " + std::to_string(rank) + " in the traces; " +
                (known.empty() ? "no trace names its rank"
                               : "there " + std::string(known.size() == 1 ? "is " : "are ") +
                                     match::rank_list(known));
      return std::nullopt;
    }
    if (found->gpu == nullptr) {
      refusal = "The GPU of " + found->label + " is not known: " + found->unknown;
      return std::nullopt;
    }
    gpus.push_back(mesh_gpu(*found));
  }
  return make_mesh(gpus, refusal);
}

}  // namespace ringside::metrics
