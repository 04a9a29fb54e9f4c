// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/topology.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analyzer/load/topology/topology_file.h"
#include "analyzer/metrics/machine/peak.h"
#include "analyzer/metrics/network/link_trouble.h"
#include "test/unit/catch.h"

using namespace ringside;

namespace {

topology::Gpu switched_gpu(std::uint32_t index, std::uint32_t links) {
  topology::Gpu gpu;
  gpu.index = index;
  gpu.pci = "0000:" + std::to_string(10 + index) + ":00.0";
  gpu.name = "NVIDIA H100";
  gpu.pcie_width = gpu.most_pcie_width = 16;
  gpu.pcie_generation = gpu.most_pcie_generation = 5;
  gpu.pci_path = "pci0000:00/0000:0" + std::to_string(index) + ":01.0/" + gpu.pci;
  gpu.numa_node = 0;
  for (std::uint32_t number = 0; number < links; ++number) {
    topology::NvLink link;
    link.number = number;
    link.is_up = true;
    link.version = 4;
    link.remote = topology::Remote::kSwitch;
    link.errors = {0, 0, 0, 0};
    gpu.links.push_back(link);
  }
  return gpu;
}

topology::Port port_of(std::uint32_t index, std::uint64_t rate_mbit_s) {
  topology::Port port;
  port.device = "mlx5_" + std::to_string(index);
  port.number = 1;
  port.state = "ACTIVE";
  port.rate_mbit_s = rate_mbit_s;
  port.numa_node = 0;
  port.pci_path =
      "pci0000:00/0000:0" + std::to_string(index) + ":01.0/0000:9" + std::to_string(index);
  port.counters = {{"link_downed", 0}, {"port_xmit_data", 5}};
  return port;
}

topology::Machine machine_of(std::uint32_t gpus) {
  topology::Machine machine;
  machine.driver = "580";
  for (std::uint32_t i = 0; i < gpus; ++i) {
    machine.gpus.push_back(switched_gpu(i, 18));
    machine.ports.push_back(port_of(i, 400'000));
  }
  return machine;
}

// A process of each rank, `per_host` of them on a host, with one communicator of all.
model::Traces job_of(std::uint32_t ranks, std::uint32_t per_host) {
  model::Traces traces;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    model::TraceFile& file = traces.files.emplace_back();
    file.process.host = "host" + std::to_string(rank / per_host);
    file.process.launcher_rank = rank;
    file.machines[1] = machine_of(per_host);
    file.machines[2] = machine_of(per_host);
    model::Context& context = file.contexts[1];
    context.rank = rank;
    context.nranks = ranks;
    context.gpu_pci = file.machines[1].gpus[rank % per_host].pci;
  }
  return traces;
}

match::Matches matches_of(const model::Traces& traces) {
  match::Matches matches;
  match::Communicator& communicator = matches.communicators.emplace_back();
  communicator.nranks = static_cast<std::uint32_t>(traces.files.size());
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    match::Member member;
    member.file = i;
    member.context = 1;
    member.rank = i;
    communicator.members.push_back(member);
  }
  return matches;
}

std::vector<std::string> texts(const metrics::Topology& topology, const std::string& kind) {
  std::vector<std::string> found;
  for (const metrics::TopologyFinding& finding : topology.findings) {
    if (finding.kind == kind) {
      found.push_back(finding.text);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a job's topology is one matrix for each host, and all ranks saw the same") {
  const model::Traces traces = job_of(4, 2);
  const metrics::Topology topology = metrics::find_topology(traces);
  REQUIRE(topology.domains.size() == 2);
  CHECK(topology.domains[1].name == "host1");
  CHECK(topology.domains[1].ranks == std::vector<std::uint32_t>{2, 3});
  REQUIRE(topology.domains[1].mesh);
  CHECK(topology.domains[1].mesh->links[0][1] == 18);
  CHECK(topology.findings.empty());
  std::string refusal;
  CHECK(metrics::mesh_of(topology, {2, 3}, refusal));
  CHECK_FALSE(metrics::mesh_of(topology, {1, 2}, refusal));
  CHECK(refusal.starts_with("rank 2 is on host host1, and rank 1 is on host host0"));
  CHECK_FALSE(metrics::mesh_of(topology, {0, 9}, refusal));
  CHECK(refusal == "There is no rank 9 in the traces; there are ranks 0-3");
}

TEST_CASE("NCCL_HOSTID tells hosts apart, as for NCCL") {
  model::Traces traces = job_of(2, 2);
  traces.files[1].process.nccl_environment["NCCL_HOSTID"] = "other";
  CHECK(metrics::find_topology(traces).domains.size() == 2);
}

TEST_CASE("a host that differs is named, and in what") {
  model::Traces traces = job_of(6, 2);
  for (const std::size_t file : {4U, 5U}) {
    for (auto& [ts_ns, machine] : traces.files[file].machines) {
      machine.gpus[1].links[7].is_up = false;
    }
  }
  const metrics::Topology topology = metrics::find_topology(traces);
  CHECK(texts(topology, "topology-differs") ==
        std::vector<std::string>{
            "The hosts are not alike: NVLinks of GPU 1 that are up: 17 of 18 (not 7) on host "
            "host2; 18 of 18 on the other 2 hosts."});
  CHECK(texts(topology, "link-down") ==
        std::vector<std::string>{"Host host2: NVLink 7 of GPU 1 (0000:11:00.0) is down."});
}

TEST_CASE("a rank that saw something else than the others of its host is named") {
  model::Traces traces = job_of(4, 4);
  traces.files[3].machines[1].gpus[0].links[2].is_up = false;
  CHECK(texts(metrics::find_topology(traces), "topology-differs") ==
        std::vector<std::string>{
            "The ranks of host host0 do not see the same: NVLinks of GPU 0000:10:00.0 that are "
            "up: 17 of 18 (not 2) on rank 3; 18 of 18 on the other 3 ranks."});
}

TEST_CASE("a process that sees its own GPU only does not differ") {
  model::Traces traces = job_of(2, 2);
  auto& gpus = traces.files[1].machines[1].gpus;
  gpus.erase(gpus.begin());
  const metrics::Topology topology = metrics::find_topology(traces);
  CHECK(texts(topology, "topology-differs").empty());
  REQUIRE(topology.domains.size() == 1);
  CHECK(topology.domains[0].mesh->links[0][1] == 18);
}

TEST_CASE("two ranks on one GPU are refused by name") {
  model::Traces traces = job_of(2, 2);
  traces.files[1].contexts[1].gpu_pci = traces.files[0].contexts[1].gpu_pci;
  const metrics::Topology topology = metrics::find_topology(traces);
  CHECK_FALSE(topology.domains[0].mesh);
  CHECK(topology.domains[0].refusal.starts_with("rank 0 and rank 1 use the same GPU"));
}

TEST_CASE("counters' increase, PCIe that trained down, an adapter that is slow") {
  model::Traces traces = job_of(8, 8);
  for (model::TraceFile& file : traces.files) {
    file.machines[1].gpus[2].links[3].errors = {1, 0, 5, 0};
    file.machines[2].gpus[2].links[3].errors = {3, 0, 47, 0};
    file.machines[2].ports[1].counters["link_downed"] = 2;
    file.machines[2].ports[1].counters["port_xmit_data"] = 500;  // ordinary work
    for (auto& [ts_ns, machine] : file.machines) {
      machine.gpus[4].pcie_width = 8;
      machine.gpus[5].pcie_generation = 1;
      machine.ports[6].rate_mbit_s = 200'000;
    }
  }
  const metrics::Topology topology = metrics::find_topology(traces);
  CHECK(texts(topology, "link-errors") ==
        std::vector<std::string>{"Host host0: NVLink 3 of GPU 2 (0000:12:00.0) had 2 replays, 42 "
                                 "CRC errors of flits during the job."});
  CHECK(texts(topology, "adapter-errors") ==
        std::vector<std::string>{"Host host0: port 1 of mlx5_1 had 2 link_downed during the job."});
  CHECK(texts(topology, "pcie-degraded").size() == 2);
  CHECK(texts(topology, "pcie-degraded")[0] ==
        "Host host0: PCIe of GPU 4 (0000:14:00.0) has 8 lanes of the 16 that GPU and slot have.");
  CHECK(texts(topology, "adapter-slow") ==
        std::vector<std::string>{"Host host0: port 1 of mlx5_6 runs at 200 Gb/s, and 7 other "
                                 "ports at 400 Gb/s."});
}

TEST_CASE(
    "what the machine says of a link: of its ends' ports between hosts, of their GPUs within") {
  model::Traces traces = job_of(4, 2);
  // On host1: a port at the GPU of rank 3, an NVLink of rank 2, and a port that is no rank's.
  topology::Machine& last = traces.files[3].machines[2];
  last.ports[1].counters["symbol_error"] = 7;
  traces.files[3].machines[1].ports[1].counters["symbol_error"] = 0;
  last.gpus[0].links[4].errors[0] = 3;
  last.ports.push_back(port_of(7, 100'000));
  traces.files[2].machines = traces.files[3].machines;
  metrics::Network network;
  network.communicators = matches_of(traces).communicators;
  const metrics::LinkTroubles troubles(traces, network);
  const auto of = [&](std::uint32_t rank, std::uint32_t peer) {
    metrics::Link link;
    link.rank = rank;
    link.peer = peer;
    link.is_send = true;
    return troubles.of(link);
  };
  CHECK(of(0, 3).texts == std::vector<std::string>{
                              "Host host1: port 1 of mlx5_1 had 7 symbol_error during the job."});
  CHECK(of(0, 1).texts.empty());
  CHECK_FALSE(of(0, 1).are_counters_known);  // no adapter is between them
  CHECK(of(2, 3).texts ==
        std::vector<std::string>{
            "Host host1: NVLink 4 of GPU 0 (0000:10:00.0) had 3 replays during the job."});
  CHECK(of(1, 2).texts.size() == 1);  // the NVLink of rank 2's GPU; its port has no errors
  CHECK(of(1, 2).are_counters_known);
  traces.files[3].contexts[1].gpu_pci = "unknown";
  CHECK(metrics::LinkTroubles(traces, network)
            .of([] {
              metrics::Link link;
              link.rank = 0;
              link.peer = 3;
              return link;
            }())
            .texts.empty());
}

TEST_CASE("a process without a reading is no rank of a matrix, and says why") {
  model::Traces traces = job_of(2, 2);
  traces.files[0].machines.clear();
  traces.files[1].machines.clear();
  traces.files[1].machines[1].state = topology::State::kFailed;
  traces.files[1].machines[1].reason = "NVML: Driver Not Loaded";
  const metrics::Topology topology = metrics::find_topology(traces);
  CHECK(topology.domains.empty());
  CHECK(topology.ranks[0].unknown.starts_with("the trace has no topology"));
  CHECK(topology.ranks[1].unknown == "the topology could not be read: NVML: Driver Not Loaded");
}

TEST_CASE("the links of a communicator: NVLink within a host, the nearest adapters between") {
  model::Traces traces = job_of(16, 8);
  const match::Matches matches = matches_of(traces);
  auto links = metrics::find_links(traces, matches);
  REQUIRE(links[0]);
  CHECK(links[0]->domains == 2);
  CHECK(links[0]->within_gb_s == 450);
  CHECK(links[0]->is_switched);
  CHECK(links[0]->adapters_gb_s == 400);  // 8 of 400 Gb/s
  CHECK(links[0]->ranks_per_domain == 8U);
  for (model::TraceFile& file : traces.files) {
    file.process.nccl_environment["NCCL_IB_HCA"] = "=mlx5_0:1,mlx5_1";
  }
  links = metrics::find_links(traces, matches);
  CHECK(links[0]->adapters_gb_s == 100);
  traces.files[3].process.nccl_environment["NCCL_IB_DISABLE"] = "1";
  links = metrics::find_links(traces, matches);
  CHECK_FALSE(links[0]->adapters_gb_s);
}

TEST_CASE("where NVLink joins not all, PCIe binds; where NCCL must not use it, nothing is known") {
  model::Traces traces = job_of(4, 4);
  for (model::TraceFile& file : traces.files) {
    for (topology::Gpu& gpu : file.machines[1].gpus) {
      gpu.links.clear();
    }
  }
  const match::Matches matches = matches_of(traces);
  auto links = metrics::find_links(traces, matches);
  REQUIRE(links[0]);
  CHECK(links[0]->within_bound == "PCIe");
  CHECK(std::abs(*links[0]->within_gb_s - 63.015) < 0.001);
  traces.files[0].process.nccl_environment["NCCL_P2P_DISABLE"] = "1";
  CHECK_FALSE(metrics::find_links(traces, matches)[0]->is_within_known);
  traces.files[2].machines.clear();
  CHECK_FALSE(metrics::find_links(traces, matches)[0]);
}

TEST_CASE("the output of nvidia-smi topo -m is a matrix") {
  constexpr char kText[] =
      "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
      "GPU0\t X \tNV12\tSYS\tSYS\tPXB\t0-31\t0\n"
      "GPU1\tNV12\t X \tSYS\tSYS\tPXB\t0-31\t0\n"
      "GPU2\tSYS\tSYS\t X \tNV12\tSYS\t32-63\t1\n"
      "GPU3\tSYS\tSYS\tNV12\t X \tSYS\t32-63\t1\n"
      "NIC0\tPXB\tPXB\tSYS\tSYS\t X \n\nLegend:\n  NV#  = Connection traversing a bonded set\n";
  REQUIRE(load::topology_format(kText) == load::TopologyFormat::kNvidiaSmi);
  std::string error;
  const auto file = load::read_topology_text(kText, load::TopologyFormat::kNvidiaSmi, error);
  REQUIRE(file);
  REQUIRE(file->hosts.size() == 1);
  const model::TopologyHost& host = file->hosts[0];
  CHECK(host.labels == std::vector<std::string>{"GPU 0", "GPU 1", "GPU 2", "GPU 3"});
  CHECK(host.machine.gpus[2].links.size() == 12);
  CHECK(host.machine.gpus[2].links[0].remote_pci == "GPU3");
  CHECK(host.machine.gpus[2].numa_node == 1);
  CHECK(host.adapters[1].at("PXB") == std::vector<std::string>{"NIC0"});
  CHECK_FALSE(load::read_topology_text("\tGPU0\tGPU1\nGPU0\t X \tNV1\n",
                                       load::TopologyFormat::kNvidiaSmi, error));
  CHECK(error == "line 1: the header has 2 GPUs, and there are 1 rows of GPUs");
  CHECK_FALSE(load::read_topology_text("\tGPU0\tGPU1\n", load::TopologyFormat::kNvidiaSmi, error));
  CHECK_FALSE(load::topology_format("[{\"ph\":\"M\"}]"));
  CHECK_FALSE(load::topology_format(""));
}

TEST_CASE("NCCL's own dump has GPUs, links, bridges and adapters") {
  constexpr char kText[] =
      "<system version=\"1\">\n"
      "  <cpu numaid=\"1\" arch=\"x86_64\">\n"
      "    <pci busid=\"0000:07:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\">\n"
      "      <pci busid=\"0000:0A:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\">\n"
      "        <gpu dev=\"0\" sm=\"80\" rank=\"3\" gdr=\"1\">\n"
      "          <nvlink target=\"0000:c7:00.0\" count=\"2\" tclass=\"0x068000\"/>\n"
      "          <nvlink target=\"0000:0B:00.0\" count=\"1\" tclass=\"0x030200\"/>\n"
      "        </gpu>\n"
      "      </pci>\n"
      "      <nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" port=\"1\"/></nic>\n"
      "    </pci>\n"
      "  </cpu>\n"
      "</system>\n";
  REQUIRE(load::topology_format(kText) == load::TopologyFormat::kNcclXml);
  std::string error;
  const auto file = load::read_topology_text(kText, load::TopologyFormat::kNcclXml, error);
  if (!file) {
    CHECK(error.find("without pugixml") != std::string::npos);
    return;
  }
  REQUIRE(file->hosts.size() == 1);
  const model::TopologyHost& host = file->hosts[0];
  REQUIRE(host.machine.gpus.size() == 1);
  const topology::Gpu& gpu = host.machine.gpus[0];
  CHECK(host.labels == std::vector<std::string>{"rank 3"});
  CHECK(gpu.pci == "0000:0a:00.0");
  CHECK(gpu.pci_path == "cpu1/0000:07:00.0/0000:0a:00.0");
  CHECK(gpu.pcie_generation == 4U);
  REQUIRE(gpu.links.size() == 3);
  CHECK(gpu.links[1].remote == topology::Remote::kSwitch);
  CHECK(gpu.links[2].remote == topology::Remote::kGpu);
  CHECK(gpu.links[2].remote_pci == "0000:0b:00.0");
  REQUIRE(host.machine.ports.size() == 1);
  CHECK(host.machine.ports[0].rate_mbit_s == 200'000U);
  CHECK(host.adapters[0].at("PIX") == std::vector<std::string>{"mlx5_0"});
  CHECK_FALSE(
      load::read_topology_text("<system><cpu/></system>", load::TopologyFormat::kNcclXml, error));
  CHECK(error == "it has no GPU below system, cpu and pci");
  CHECK_FALSE(load::read_topology_text("<system><cpu", load::TopologyFormat::kNcclXml, error));
  CHECK(error.starts_with("it is no XML: "));
}
