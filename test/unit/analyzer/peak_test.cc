// SPDX-License-Identifier: Apache-2.0
// The peak model, against cases computed by hand from public figures of machines.
#include "analyzer/metrics/peak.h"

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
  CHECK_FALSE(peak_of(hosts(2, 400), "AllReduce", "NVLS"));
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
  CHECK_FALSE(peak_of(switched(450), "AllReduce", "COLLNET_DIRECT"));
  CHECK_FALSE(peak_of(switched(450), "Send", "RING"));
  CommunicatorLinks mesh = switched(150);
  mesh.is_ported = false;
  CHECK_FALSE(peak_of(mesh, "AllReduce", "TREE"));
  CHECK(peak(mesh, "AllReduce", "RING") == 150);
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
