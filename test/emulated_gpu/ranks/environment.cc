// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <cstdlib>
#include <cuda_runtime_api.h>
#include <fstream>
#include <stdexcept>

namespace ranks {
namespace {

void set_default(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 0);
}
void set(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
}

// Describes one host as NCCL would find it in sysfs; returns the file's path.
std::string write_topology(const Options& options) {
  const std::string path = options.directory + "/topology.xml";
  std::ofstream file(path);
  file << "<system version=\"1\">\n"
          "  <cpu numaid=\"0\" affinity=\"ffffffff\" arch=\"x86_64\" vendor=\"GenuineIntel\""
          " familyid=\"6\" modelid=\"143\">\n";
  for (int device = 0; device < options.ranks_per_host; ++device) {
    char bus_id[32];
    if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device) != cudaSuccess) {
      throw std::runtime_error("there is no device " + std::to_string(device));
    }
    file << "    <pci busid=\"" << bus_id
         << "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" subsystem_vendor=\"0x10de\""
            " subsystem_device=\"0x16c1\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
         << "      <gpu dev=\"" << device << "\" sm=\"90\" gdr=\"0\"/>\n"
         << "    </pci>\n";
  }
  file << "  </cpu>\n</system>\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
  return path;
}

}  // namespace

void prepare_environment(const Options& options) {
  set("EMUGPU_DEVICES", std::to_string(options.ranks_per_host));
  set_default("NCCL_TOPO_FILE", write_topology(options));
  if (!options.plugin.empty()) set("NCCL_PROFILER_PLUGIN", options.plugin);
  set_default("RECORDER_DIR", options.directory);

  // Only what the kernels' emulation knows.
  set_default("NCCL_PROTO", "LL,Simple");
  set_default("NCCL_ALGO", "Ring,Tree");
  set_default("NCCL_PAT_ENABLE", "0");
  set_default("NCCL_NVLS_ENABLE", "0");
  set_default("NCCL_COLLNET_ENABLE", "0");
  set_default("NCCL_LOCAL_REGISTER", "0");
  set_default("NCCL_CUMEM_ENABLE", "0");
  set_default("NCCL_CUMEM_HOST_ENABLE", "0");
  set_default("NCCL_MNNVL_ENABLE", "0");

  // Sockets over loopback between hosts, shared host memory within one.
  set_default("NCCL_NET", "Socket");
  set_default("NCCL_NET_PLUGIN", "none");
  set_default("NCCL_IB_DISABLE", "1");
  set_default("NCCL_SOCKET_IFNAME", "lo");
  set_default("NCCL_P2P_DISABLE", "1");
  set_default("NCCL_RAS_ENABLE", "0");

  set_default("NCCL_MIN_NCHANNELS", "1");
  set_default("NCCL_MAX_NCHANNELS", std::to_string(options.channels));
  set_default("NCCL_SET_THREAD_NAME", "1");
}

void set_process_environment(const Options& options, int process) {
  const int rank = process * options.ranks_per_process;
  // To NCCL, ranks with the same host id are on the same node.
  set("NCCL_HOSTID", "emulated-host-" + std::to_string(options.host_of(rank)));
  // As job launchers do.
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(options.rank_count));
  set("LOCAL_RANK", std::to_string(options.device_of(rank)));
}

}  // namespace ranks
