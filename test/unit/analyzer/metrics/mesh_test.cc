// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/machine/mesh.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/metrics/machine/topology.h"
#include "analyzer/model/pci_distance.h"
#include "test/unit/catch.h"

using namespace ringside::metrics;
using namespace ringside::topology;

namespace {

using Matrix = std::vector<std::vector<std::uint32_t>>;
using Pair = std::tuple<std::size_t, std::size_t, std::uint32_t>;

// The pairs of a DGX-1 with V100, as `nvidia-smi topo -m` shows them.
const std::vector<Pair> kDgx1 = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                                 {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                                 {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};

std::string address(std::size_t gpu) {
  return "0000:" + std::to_string(10 + gpu) + ":00.0";
}

struct Host {
  std::vector<Gpu> gpus;

  explicit Host(std::size_t count) : gpus(count) {
    for (std::size_t i = 0; i < count; ++i) {
      gpus[i].pci = address(i);
    }
  }
  void link(std::size_t from, std::size_t to) {
    NvLink link;
    link.number = static_cast<std::uint32_t>(gpus[from].links.size());
    link.is_up = true;
    link.version = 2;
    link.remote = Remote::kGpu;
    link.remote_pci = address(to);
    gpus[from].links.push_back(link);
  }
  void join(const std::vector<Pair>& pairs) {
    for (const auto& [one, other, links] : pairs) {
      for (std::uint32_t i = 0; i < links; ++i) {
        link(one, other);
        link(other, one);
      }
    }
  }
  void to_switch(std::size_t from, std::uint32_t links) {
    for (std::uint32_t i = 0; i < links; ++i) {
      NvLink link;
      link.number = static_cast<std::uint32_t>(gpus[from].links.size());
      link.is_up = true;
      link.version = 4;
      link.speed_mbytes_s = 26'562;
      link.remote = Remote::kSwitch;
      gpus[from].links.push_back(link);
    }
  }
  std::vector<MeshGpu> all(const std::string& host = "a") const {
    std::vector<MeshGpu> made;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      made.push_back({"rank " + std::to_string(i), host, &gpus[i]});
    }
    return made;
  }
};

Mesh mesh_of_gpus(const std::vector<MeshGpu>& gpus) {
  std::string refusal;
  auto mesh = make_mesh(gpus, refusal);
  INFO(refusal);
  REQUIRE(mesh);
  return *mesh;
}

std::string refusal_of(const std::vector<MeshGpu>& gpus) {
  std::string refusal;
  CHECK_FALSE(make_mesh(gpus, refusal));
  return refusal;
}

}  // namespace

TEST_CASE("direct links make the matrix, and a DGX-1 is a hybrid cube mesh") {
  Host host(8);
  host.join(kDgx1);
  const Mesh mesh = mesh_of_gpus(host.all());
  for (const auto& [one, other, links] : kDgx1) {
    CHECK(mesh.links[one][other] == links);
    CHECK(mesh.links[other][one] == links);
    CHECK(mesh.mbytes_s[one][other] == links * 25'000);
  }
  CHECK(mesh.links[0][5] == 0);
  CHECK(mesh.links[3][3] == 0);
  CHECK(mesh.kind == MeshKind::kHybridCubeMesh);
}

TEST_CASE("a hybrid cube mesh is found whatever the order of its GPUs") {
  constexpr std::size_t kOrder[] = {6, 0, 3, 5, 1, 7, 2, 4};
  Host host(8);
  for (const auto& [one, other, links] : kDgx1) {
    host.join({{kOrder[one], kOrder[other], links}});
  }
  CHECK(mesh_of_gpus(host.all()).kind == MeshKind::kHybridCubeMesh);
}

TEST_CASE("four neighbours each do not make a hybrid cube mesh") {
  // A ring in which each GPU is linked to the next two on both sides.
  Host host(8);
  for (std::size_t i = 0; i < 8; ++i) {
    host.join({{i, (i + 1) % 8, 1}, {i, (i + 2) % 8, 1}});
  }
  const Mesh mesh = mesh_of_gpus(host.all());
  for (const auto& row : mesh.links) {
    CHECK(std::count_if(row.begin(), row.end(), [](auto links) { return links > 0; }) == 4);
  }
  CHECK(mesh.kind == MeshKind::kPartial);
}

TEST_CASE("a cube mesh whose one link is down is partial") {
  Host host(8);
  host.join(kDgx1);
  for (NvLink& link : host.gpus[7].links) {
    link.is_up = link.remote_pci != address(3);
  }
  const Mesh mesh = mesh_of_gpus(host.all());
  CHECK(mesh.links[3][7] == 1);  // the other side does not know
  CHECK(mesh.links[7][3] == 0);
  CHECK(mesh.kind == MeshKind::kPartial);
}

TEST_CASE("through a switch, the lesser of the two sides' links count") {
  Host host(3);
  host.to_switch(0, 18);
  host.to_switch(1, 17);
  host.to_switch(2, 18);
  const Mesh mesh = mesh_of_gpus(host.all());
  CHECK(mesh.links == Matrix{{0, 17, 18}, {17, 0, 17}, {18, 17, 0}});
  CHECK(mesh.mbytes_s[0][2] == 18 * 25'000);  // the data, not the line's rate
  CHECK(mesh.kind == MeshKind::kSwitched);
}

TEST_CASE("a link that is down does not end the loop over the links") {
  Host host(2);
  host.to_switch(0, 6);
  host.to_switch(1, 6);
  host.gpus[0].links[2].is_up = false;
  host.gpus[0].links[3].is_up.reset();  // not known: no link to count on
  CHECK(mesh_of_gpus(host.all()).links == Matrix{{0, 4}, {4, 0}});
}

TEST_CASE("links through a switch add to direct ones") {
  Host host(2);
  host.join({{0, 1, 2}});
  host.to_switch(0, 4);
  host.to_switch(1, 3);
  const Mesh mesh = mesh_of_gpus(host.all());
  CHECK(mesh.links == Matrix{{0, 5}, {5, 0}});
  CHECK(mesh.switch_links == Matrix{{0, 3}, {3, 0}});
  CHECK(mesh.kind == MeshKind::kFullyConnected);
}

TEST_CASE("kinds of small machines") {
  Host four(4);
  four.join({{0, 1, 4}, {0, 2, 4}, {0, 3, 4}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}});
  CHECK(mesh_of_gpus(four.all()).kind == MeshKind::kFullyConnected);
  Host pairs(4);
  pairs.join({{0, 1, 12}, {2, 3, 12}});
  CHECK(mesh_of_gpus(pairs.all()).kind == MeshKind::kPartial);
  CHECK(mesh_of_gpus(Host(4).all()).kind == MeshKind::kNone);
  CHECK(mesh_of_gpus(Host(1).all()).kind == MeshKind::kNone);
}

TEST_CASE("a link without a speed leaves the pair's rate unknown, not 0") {
  Host host(2);
  host.join({{0, 1, 2}});
  host.gpus[0].links[0].version.reset();
  const Mesh mesh = mesh_of_gpus(host.all());
  CHECK(mesh.links[0][1] == 2);
  CHECK_FALSE(mesh.mbytes_s[0][1]);
  CHECK(mesh.mbytes_s[1][0] == 50'000);
}

TEST_CASE("ranks of several hosts are refused by name, unless they share a fabric clique") {
  Host one(1);
  Host other(1);
  one.to_switch(0, 18);
  other.to_switch(0, 18);
  const std::vector<MeshGpu> both = {{"rank 0", "a", one.gpus.data()},
                                     {"rank 1", "b", other.gpus.data()}};
  CHECK(refusal_of(both) ==
        "rank 1 is on host b, and rank 0 is on host a: no NVLinks join them, so there is no matrix "
        "of both");
  one.gpus[0].fabric_cluster = other.gpus[0].fabric_cluster = "f";
  one.gpus[0].fabric_clique = other.gpus[0].fabric_clique = 7;
  const Mesh mesh = mesh_of_gpus(both);
  CHECK(mesh.links == Matrix{{0, 18}, {18, 0}});
  CHECK(mesh.kind == MeshKind::kSwitched);
  other.gpus[0].fabric_clique = 8;
  CHECK(refusal_of(both).starts_with("rank 1 is on fabric f clique 8 (host b)"));
}

TEST_CASE("a device used twice is refused by name") {
  const Host host(2);
  std::vector<MeshGpu> gpus = host.all();
  gpus[1].gpu = gpus[0].gpu;
  CHECK(refusal_of(gpus) ==
        "rank 0 and rank 1 use the same GPU, 0000:10:00.0 of host a: give each rank a GPU of its "
        "own (torch.cuda.set_device)");
}

TEST_CASE("a link carries the lesser of its version's data rate and what NVML tells") {
  NvLink link;
  CHECK_FALSE(data_rate_mbytes_s(link));
  link.speed_mbytes_s = 26'562;
  CHECK(data_rate_mbytes_s(link) == 26'562);
  link.version = 4;
  CHECK(data_rate_mbytes_s(link) == 25'000);
  link.speed_mbytes_s = 14'062;  // as between two RTX A6000
  link.version = 3;
  CHECK(data_rate_mbytes_s(link) == 14'062);
  link.version = 99;
  CHECK(data_rate_mbytes_s(link) == 14'062);
}

TEST_CASE("the distance of GPU and adapter on PCI, in the words of nvidia-smi") {
  Gpu gpu;
  Port port;
  CHECK(model::pci_distance(gpu, port).empty());
  gpu.pci_path = "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0/0000:1a:00.0";
  port.pci_path = "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0/0000:1b:00.0";
  CHECK(model::pci_distance(gpu, port) == "PIX");
  port.pci_path = "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:01.0/0000:1b:00.0";
  CHECK(model::pci_distance(gpu, port) == "PIX");  // another port of the same switch
  port.pci_path = "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:01.0/0000:1b:00.0/0000:1c:00.0";
  CHECK(model::pci_distance(gpu, port) == "PXB");
  port.pci_path = "pci0000:17/0000:17:02.0/0000:1b:00.0";
  CHECK(model::pci_distance(gpu, port) == "PHB");
  port.pci_path = "pci0000:30/0000:30:02.0/0000:3b:00.0";
  CHECK(model::pci_distance(gpu, port).empty());  // the nodes are not known
  gpu.numa_node = 0;
  port.numa_node = 0;
  CHECK(model::pci_distance(gpu, port) == "NODE");
  port.numa_node = 1;
  CHECK(model::pci_distance(gpu, port) == "SYS");
}
