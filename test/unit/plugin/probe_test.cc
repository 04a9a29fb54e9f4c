// SPDX-License-Identifier: Apache-2.0
// The probe, against the emulated NVML by itself (test/emulated_gpu/cuda), which presents the
// machines of test/emulated_gpu/machines. CMake puts it into the way of dlopen.
#include "plugin/topology/probe.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "plugin/topology/readers.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside::topology;
using namespace std::chrono_literals;

namespace {

// Runs `check` in a child, since a process loads NVML and its description once. Its result is the
// child's exit status.
template <typename Check>
int in_child(const char* machine, Check check, const char* host = "") {
  const pid_t child = fork();
  if (child == 0) {
    const std::string path =
        std::string(RINGSIDE_TEST_SOURCE "/test/emulated_gpu/machines/") + machine;
    setenv("EMUGPU_MACHINE", (path + ".json").c_str(), 1);
    setenv("NCCL_HOSTID", host, 1);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Machine read() {
  Nvml nvml;
  bool is_open = false;
  const std::atomic<bool> stop{false};
  return read_machine("/nonexistent", nvml, is_open, stop);
}

std::optional<Machine> take_within(Probe& probe, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::optional<Machine> machine;
  while (!(machine = probe.take()) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(1ms);
  }
  return machine;
}

}  // namespace

TEST_CASE("the probe reads a machine with NVSwitches") {
  CHECK(in_child("dgx_h100", [] {
          const Machine machine = read();
          const Gpu& gpu = machine.gpus.at(3);
          const NvLink& link = gpu.links.at(17);
          return machine.state == State::kComplete && machine.gpus.size() == 8 &&
                 machine.driver == "580.0 emulated" && machine.took_ns > 0 &&
                 gpu.name == "NVIDIA H100 80GB HBM3" && gpu.pci == "0000:48:00.0" &&
                 gpu.uuid.starts_with("GPU-") && gpu.pcie_generation == 5 &&
                 gpu.most_pcie_width == 16 && gpu.links.size() == 18 && link.is_up == true &&
                 link.version == 4 && link.speed_mbytes_s == 26562 &&
                 link.remote == Remote::kSwitch && link.errors[0] == 0 &&
                 gpu.fabric_cluster.empty() && !gpu.fabric_clique;
        }) == 0);
}

TEST_CASE("the probe reads links between GPUs, and the fabric of several hosts") {
  CHECK(in_child("dgx1_v100", [] {
          const Machine machine = read();
          const Gpu& gpu = machine.gpus.at(0);
          return gpu.links.size() == 6 && gpu.links[0].remote == Remote::kGpu &&
                 gpu.links[0].remote_pci == machine.gpus.at(1).pci &&
                 gpu.links[5].remote_pci == machine.gpus.at(4).pci;
        }) == 0);
  CHECK(in_child("gb200_nvl72", [] {
          const Machine machine = read();
          return machine.gpus.size() == 4 && machine.gpus[2].fabric_clique == 32766 &&
                 machine.gpus[2].fabric_cluster == "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf";
        }) == 0);
  CHECK(in_child("pcie_only", [] { return read().gpus.at(7).links.empty(); }) == 0);
}

TEST_CASE("a link that is down does not end the loop over the links") {
  CHECK(in_child(
            "dgx_h100_faults",
            [] {
              const Gpu gpu = read().gpus.at(0);
              return gpu.links.size() == 18 && gpu.links[7].is_up == false &&
                     gpu.links[7].remote == Remote::kUnknown && !gpu.links[7].speed_mbytes_s &&
                     gpu.links[8].is_up == true && gpu.links[8].remote == Remote::kSwitch;
            },
            "emulated-host-1") == 0);
}

TEST_CASE("an NVML that fails leaves its reason") {
  CHECK(in_child("nvml_fails", [] {
          const Machine machine = read();
          return machine.state == State::kFailed && machine.gpus.empty() &&
                 machine.reason == "NVML: error of the emulated NVML";
        }) == 0);
}

TEST_CASE("the probe's thread reads again when it is asked, and counters have grown") {
  CHECK(in_child(
            "dgx_h100_faults",
            [] {
              auto& probe = *new Probe("/nonexistent");
              if (!probe.start()) return false;
              const auto first = take_within(probe, 10s);
              probe.ask();
              const auto later = take_within(probe, 10s);
              return first && later && first->gpus.at(1).links.at(2).errors[2] == 3 &&
                     later->gpus.at(1).links.at(2).errors[2] == 45 && !probe.reads_for();
            },
            "emulated-host-1") == 0);
}

TEST_CASE("a reading that nobody took is not lost to the next one") {
  CHECK(in_child("dgx_h100", [] {
          auto& probe = *new Probe("/nonexistent");
          if (!probe.start()) return false;
          while (probe.reads_for()) std::this_thread::sleep_for(1ms);
          probe.ask();
          std::this_thread::sleep_for(200ms);  // for it to end, as it mostly does
          return take_within(probe, 10s) && take_within(probe, 10s) && !probe.take();
        }) == 0);
}

TEST_CASE("an NVML that never returns is left alone, and the exit waits for nothing") {
  for (const char* machine : {"nvml_hangs_init", "nvml_hangs_links"}) {
    CHECK(in_child(machine, [] {
            auto& probe = *new Probe("/nonexistent");
            const auto begin = std::chrono::steady_clock::now();
            const bool is_started = probe.start();
            const bool is_prompt = std::chrono::steady_clock::now() - begin < 5s;
            if (!is_started || !is_prompt || take_within(probe, 50ms) || !probe.reads_for()) {
              return false;
            }
            std::exit(0);  // with handlers: this is what must end
          }) == 0);
  }
}

TEST_CASE("an NVML that hangs at the exit does not hold it") {
  CHECK(in_child("nvml_hangs_later", [] {
          auto& probe = *new Probe("/nonexistent");
          if (!probe.start() || !take_within(probe, 10s)) return false;
          std::exit(0);  // the handler asks for a last reading, which never ends
        }) == 0);
}

TEST_CASE("nobody is in NVML when it takes itself apart") {
  // While NVML is being opened, in the first reading, and in a later one.
  for (const auto& [readings, read_for] : {std::pair{0, 20ms}, {0, 100ms}, {1, 20ms}}) {
    CHECK(in_child("nvml_slow", [readings = readings, read_for = read_for] {
            auto& probe = *new Probe("/nonexistent");
            if (!probe.start()) return false;
            if (readings > 0) {
              if (!take_within(probe, 30s)) return false;
              probe.ask();
            }
            while (probe.reads_for().value_or(0ms) < read_for) std::this_thread::sleep_for(1ms);
            std::exit(0);  // with handlers
          }) == 0);
  }
}

TEST_CASE("sysfs has the ports, and where devices are") {
  namespace fs = std::filesystem;
  const ringside::Directory directory;
  const fs::path root = directory.file("");
  const auto write = [&](const fs::path& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  };
  const fs::path place = "devices/pci0000:17/0000:17:01.0/0000:18:00.0";
  write(place / "numa_node", "1");
  write("devices/pci0000:17/0000:17:02.0/0000:1a:00.0/numa_node", "-1");
  fs::create_directories(root / "bus/pci/devices");
  fs::create_directory_symlink(fs::path("../../..") / place, root / "bus/pci/devices/0000:18:00.0");
  const fs::path port = "class/infiniband/mlx5_0/ports/1";
  write(port / "rate", "400 Gb/sec (4X NDR)");
  write(port / "state", "4: ACTIVE");
  write(port / "link_layer", "InfiniBand");
  write(port / "counters/link_downed", "2");
  write(port / "counters/symbol_error", "N/A (no PMA)");
  write("class/infiniband/mlx5_0/ports/strange/rate", "1 Gb/sec");
  write("class/infiniband/mlx5_1/ports/1/rate", "2.5 Gb/sec (1X SDR)");
  fs::create_directory_symlink("../../../devices/pci0000:17/0000:17:02.0/0000:1a:00.0",
                               root / "class/infiniband/mlx5_0/device");
  Machine machine;
  machine.gpus.resize(2);
  machine.gpus[0].pci = "0000:18:00.0";
  read_places(root, machine);
  read_ports(root, machine);
  CHECK(machine.gpus[0].pci_path == "pci0000:17/0000:17:01.0/0000:18:00.0");
  CHECK(machine.gpus[0].numa_node == 1);
  CHECK_FALSE(machine.gpus[1].numa_node);
  REQUIRE(machine.ports.size() == 2);
  const Port& first = machine.ports[0];
  CHECK(first.device == "mlx5_0");
  CHECK(first.number == 1);
  CHECK(first.pci == "0000:1a:00.0");
  CHECK_FALSE(first.numa_node);  // -1 in sysfs: it belongs to no node
  CHECK(first.rate_mbit_s == 400'000);
  CHECK(first.state == "ACTIVE");
  CHECK(first.counters == std::map<std::string, std::uint64_t>{{"link_downed", 2}});
  CHECK(machine.ports[1].rate_mbit_s == 2'500);
  CHECK(machine.ports[1].state.empty());
}

TEST_CASE("addresses of PCI devices are written as sysfs does") {
  CHECK(sysfs_address("00000000:3B:00.0") == "0000:3b:00.0");
  CHECK(sysfs_address("0000:3B:00.0") == "0000:3b:00.0");
  CHECK(sysfs_address("00010000:3B:00.0") == "10000:3b:00.0");
  CHECK(sysfs_address("no address") == "no address");
}
