// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/evidence.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "test/unit/catch.h"

namespace ringside::live {
namespace {

constexpr std::int64_t kBoot_ns = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z

}  // namespace

// Records as Documentation/ABI/testing/dev-kmsg of Linux has them; the Xid line is NVIDIA's
// driver's (XID Errors, NVIDIA GPU Deployment and Management Documentation).
TEST_CASE("of the kernel's log Xids and processes killed for want of memory are kept") {
  const std::string log =
      "6,339,5140900,-;NET: Registered protocol family 10\n"
      "3,340,60000000,-;NVRM: Xid (PCI:0000:03:00): 79, pid=1234, GPU has fallen off the bus.\n"
      " SUBSYSTEM=pci\n"
      " DEVICE=+pci:0000:03:00.0 NVRM: Xid\n"
      "3,341,61500000,-;Out of memory: Killed process 4711 (python3) total-vm:1kB\n"
      "6,342,62000000,-;usb 1-1: new device; NVRM\n"
      "NVRM: Xid without a head\n";
  CHECK(kernel_troubles(log, kBoot_ns, kBoot_ns) ==
        "2023-11-14T22:14:20.000Z NVRM: Xid (PCI:0000:03:00): 79, pid=1234, GPU has fallen off the "
        "bus.\n"
        "2023-11-14T22:14:21.500Z Out of memory: Killed process 4711 (python3) total-vm:1kB\n");
  CHECK(kernel_troubles(log, kBoot_ns, kBoot_ns + 61'000'000'000) ==
        "2023-11-14T22:14:21.500Z Out of memory: Killed process 4711 (python3) total-vm:1kB\n");
  CHECK(kernel_troubles("", kBoot_ns, 0).empty());
}

TEST_CASE("of many such records the last 20 are kept") {
  std::string log;
  for (int i = 0; i < 100; ++i) {
    log += "3," + std::to_string(i) + ',' + std::to_string(i * 1'000'000) + ",-;NVRM: Xid " +
           std::to_string(i) + '\n';
  }
  const std::string kept = kernel_troubles(log, kBoot_ns, 0);
  CHECK(std::count(kept.begin(), kept.end(), '\n') == 20);
  CHECK(kept.find("NVRM: Xid 80\n") != std::string::npos);
  CHECK(kept.find("NVRM: Xid 79\n") == std::string::npos);
}

}  // namespace ringside::live
