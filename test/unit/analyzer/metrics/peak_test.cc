// SPDX-License-Identifier: Apache-2.0
// The peak model, against cases computed by hand from public figures of machines.
#include "analyzer/metrics/machine/peak.h"

#include <algorithm>
#include <cmath>

#include "test/unit/catch.h"

using namespace ringside::metrics;

namespace {

// One host of 8 GPUs behind NVSwitches.
CommunicatorLinks switched(double gb_s) {
  CommunicatorLinks links;
  links.nranks = 8;
  links.domains = 1;
  links.within_gb_s = gb_s;
  links.within_bound = "NVLink";
  links.is_switched = true;
  links.ranks_per_domain = 8;
  return links;
}

// So many of them, with 8 adapters each.
CommunicatorLinks hosts(std::uint32_t count, double adapters_gb_s) {
  CommunicatorLinks links = switched(450);
  links.nranks = 8 * count;
  links.domains = count;
  links.adapters_gb_s = adapters_gb_s;
  return links;
}

double peak(const CommunicatorLinks& links, const char* function, const char* algorithm) {
  const auto found = peak_of(links, function, algorithm);
  REQUIRE(found);
  return found->busbw_gb_s;
}

bool is_near(double one, double other) {
  return std::abs(one - other) < 1e-6;
}

}  // namespace

TEST_CASE("rings within a DGX H100 are bounded by 18 links of 25 GB/s") {
  for (const char* function : {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"}) {
    CHECK(peak(switched(450), function, "RING") == 450);
  }
  CHECK(peak_of(switched(450), "AllReduce", "RING")->bound == "NVLink");
}

TEST_CASE("trees within a host give all data twice, and busbw counts 2 (n - 1) / n") {
  CHECK(is_near(peak(switched(450), "AllReduce", "TREE"), 2 * 7.0 / 8 * 450 / 2));
  CommunicatorLinks pair = switched(450);
  pair.nranks = 2;
  pair.ranks_per_domain = 2;
  CHECK(is_near(peak(pair, "AllReduce", "TREE"), 450));  // nobody is in a middle
}

TEST_CASE("NVLS may exceed the ring's peak") {
  CHECK(is_near(peak(switched(450), "AllReduce", "NVLS"), 700));  // 2 * 7 / 9 * 450
  CHECK(peak(switched(450), "AllGather", "NVLS") == 450);
  CommunicatorLinks mesh = switched(450);
  mesh.is_switched = false;
  CHECK_FALSE(peak_of(mesh, "AllReduce", "NVLS"));
}

TEST_CASE("over hosts, NVLS and CollNet give the adapters all data once, trees by their halves") {
  const CommunicatorLinks two = hosts(2, 400);
  const double factor = 2 * 15.0 / 16;
  // The switch's part: a rank gives its data, and an eighth of the sum.
  CHECK(is_near(peak(two, "AllReduce", "NVLS"), factor * std::min(450 * 8 / 9.0, 400.0)));
  CHECK(is_near(peak(hosts(2, 900), "AllReduce", "NVLS"), factor * 400));
  CHECK(peak_of(two, "AllReduce", "NVLS_TREE")->bound == "NVLink");
  CHECK(is_near(peak(hosts(4, 100), "AllReduce", "NVLS_TREE"), 2 * 31.0 / 32 * 100 / 2));
  CHECK(is_near(peak(hosts(4, 100), "AllReduce", "COLLNET_CHAIN"), 2 * 31.0 / 32 * 100));
  CHECK(is_near(peak(hosts(4, 100), "AllReduce", "COLLNET_DIRECT"), 2 * 31.0 / 32 * 100));
  // A rank gives 7 parts to the others, and an eighth of the sum to each of 7.
  CHECK(is_near(peak(hosts(2, 900), "AllReduce", "COLLNET_DIRECT"), factor * 450 * 8 / 14));
  CommunicatorLinks uneven = two;
  uneven.ranks_per_domain.reset();
  CHECK_FALSE(peak_of(uneven, "AllReduce", "NVLS_TREE"));
}

TEST_CASE("AllGather and ReduceScatter: what a domain and a rank must get") {
  for (const char* algorithm : {"NVLS", "COLLNET_DIRECT", "PAT"}) {
    // Of 16 parts a host lacks 8, and busbw counts 15.
    CHECK(is_near(peak(hosts(2, 100), "AllGather", algorithm), 100 * 15.0 / 8));
    CHECK(is_near(peak(hosts(2, 900), "ReduceScatter", algorithm), 450 * 15.0 / 14));
    CHECK_FALSE(peak_of(hosts(2, 100), "AllGather", "TREE"));
  }
  CommunicatorLinks alone = hosts(4, 100);  // one rank on each host
  alone.nranks = 4;
  alone.ranks_per_domain = 1;
  alone.within_gb_s.reset();
  CHECK(is_near(peak(alone, "AllGather", "PAT"), 100));
}

TEST_CASE("sends and receives have a peak where every pair has the same") {
  CHECK(peak(switched(450), "SendRecv", "") == 450);
  CHECK(peak(switched(450), "SendRecv ring", "") == 450);
  CHECK_FALSE(peak_of(hosts(2, 400), "SendRecv", ""));
  CHECK(peak(switched(450), "Gather", "") == 450);
  CHECK(is_near(peak(hosts(2, 100), "Scatter", ""), 100 * 15.0 / 8));
  CommunicatorLinks uneven = switched(425);
  uneven.is_even = false;  // a link of one GPU is down: the others' pairs may be faster
  CHECK_FALSE(peak_of(uneven, "SendRecv", ""));
  CHECK(peak(uneven, "AlltoAll", "") == 425);
}

TEST_CASE("between hosts, whichever binds") {
  CHECK(peak(hosts(2, 400), "AllReduce", "RING") == 400);
  CHECK(peak_of(hosts(2, 400), "AllReduce", "RING")->bound == "adapters");
  CHECK(peak(hosts(2, 900), "AllReduce", "RING") == 450);
  // Each of two hosts gives all data once: busbw exceeds the adapters' rate.
  CommunicatorLinks two = hosts(2, 100);
  CHECK(is_near(peak(two, "AllReduce", "TREE"), 2 * 15.0 / 16 * 100));
  CHECK(is_near(peak(hosts(4, 100), "AllReduce", "TREE"), 2 * 31.0 / 32 * 100 / 2));
}

TEST_CASE("AlltoAll gives the adapters what goes to other hosts") {
  CHECK(peak(switched(450), "AlltoAll", "") == 450);
  // 16 ranks: a host gives 8 * 8 / 16 of the data of a rank, and busbw counts 15 / 16 of it.
  CHECK(is_near(peak(hosts(2, 400), "AlltoAll", ""), 400 * 15.0 / (8 * 8)));
}

TEST_CASE("where a part is unknown there is no peak") {
  CommunicatorLinks links = hosts(2, 400);
  links.adapters_gb_s.reset();
  CHECK_FALSE(peak_of(links, "AllReduce", "RING"));
  links = switched(450);
  links.is_within_known = false;
  CHECK_FALSE(peak_of(links, "AllReduce", "RING"));
  CHECK_FALSE(peak_of(switched(450), "AllReduce", ""));
  CHECK_FALSE(peak_of(switched(450), "AllReduce", "AN ALGORITHM OF TOMORROW"));
  CHECK_FALSE(peak_of(switched(450), "Send", "RING"));
  CommunicatorLinks mesh = switched(150);
  mesh.is_ported = false;
  CHECK(peak(mesh, "AllReduce", "RING") == 150);
  CHECK_FALSE(peak_of(mesh, "AlltoAll", ""));
  CHECK_FALSE(peak_of(switched(450), "AlltoAllv", ""));
}

TEST_CASE("chains over direct links: all ranks but both ends give all data twice") {
  // A DGX-1 with V100: six links of 25 GB/s a GPU, and eight GPUs, of which a chain has two ends.
  CommunicatorLinks mesh = switched(150);
  mesh.is_switched = mesh.is_ported = false;
  mesh.mean_gb_s = 150;
  CHECK(is_near(peak(mesh, "AllReduce", "TREE"), 1.75 * 150 * 8 / 14));
  mesh.within_gb_s = 50;  // fewer links join two halves: each gives all data once
  CHECK(is_near(peak(mesh, "AllReduce", "TREE"), 1.75 * 50));
}

TEST_CASE("what PCIe carries") {
  CHECK(std::abs(*pcie_gb_s(3, 16) - 15.754) < 0.001);
  CHECK(std::abs(*pcie_gb_s(4, 16) - 31.508) < 0.001);
  CHECK(std::abs(*pcie_gb_s(5, 16) - 63.015) < 0.001);
  CHECK(*pcie_gb_s(1, 4) == 1);
  CHECK_FALSE(pcie_gb_s(0, 16));
  CHECK_FALSE(pcie_gb_s(99, 16));
  CHECK_FALSE(pcie_gb_s(4, 0));
}
