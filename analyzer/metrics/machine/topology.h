// SPDX-License-Identifier: Apache-2.0
//
// The topology of a job: which GPU each rank uses, the NVLink domains that the ranks form, and
// whether all processes and hosts have seen the same machine.
#ifndef RINGSIDE_ANALYZER_METRICS_MACHINE_TOPOLOGY_H
#define RINGSIDE_ANALYZER_METRICS_MACHINE_TOPOLOGY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/metrics/machine/mesh.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// A rank and its GPU. Its strings and pointers are those of the traces.
struct RankGpu {
  std::string label;                   // "rank 3"
  std::optional<std::uint32_t> rank;   // global; nothing if it is not known
  std::uint32_t file = 0;              // index into Traces::files
  std::string host;                    // see host_of()
  const topology::Gpu* gpu = nullptr;  // in the process's first reading; NULL if not known
  std::string unknown;                 // why it is NULL: a sentence without its subject
};

/// The ranks that NVLink can join: those of a host, or of a fabric clique.
struct NvLinkDomain {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> ranks;  // indices into Topology::ranks
  std::optional<Mesh> mesh;
  std::string refusal;  // why there is none
};

/// The machine of a host, as its processes have read it.
struct HostMachine {
  std::string host;
  std::vector<std::uint32_t> files;
  /// The earliest reading that is complete, and the latest; the same one if there is only one, and
  /// NULL if there is none.
  const topology::Machine* first = nullptr;
  const topology::Machine* last = nullptr;
  std::string trouble;  // why there is none
};

/// Something that a person should know of the machine.
struct TopologyFinding {
  std::string kind;
  std::string text;      // a sentence
  bool is_note = false;  // it may be as it should be
  /// Its owner; empty if it is no single thing's: the host, and the address of the GPU or the
  /// name of the port (port_name).
  std::string host = {};
  std::string thing = {};
};

/// "mlx5_0 port 1".
std::string port_name(const topology::Port& port);

struct Topology {
  std::vector<RankGpu> ranks;  // by rank, then by host and process
  std::vector<NvLinkDomain> domains;
  std::vector<HostMachine> hosts;  // in natural order
  std::vector<TopologyFinding> findings;
};

/// The first reading that NVML has answered; NULL if there is none.
const topology::Machine* first_reading(const model::TraceFile& file);

/// The GPU of a communicator's member, in that reading; NULL if it is not known.
const topology::Gpu* gpu_of(const model::TraceFile& file, std::uint32_t context);

/// The host of a process, as NCCL tells hosts apart: by NCCL_HOSTID if that is set, else by name.
std::string host_of(const model::Process& process);

/// The value of a variable in NCCL's environment; NULL if it is not set, or empty.
const std::string* nccl_variable(const model::Process& process, const char* name);

Topology find_topology(const model::Traces& traces);

/// The matrix of these ranks of the job alone. `refusal` is a sentence if there is none.
std::optional<Mesh> mesh_of(const Topology& topology, const std::vector<std::uint32_t>& ranks,
                            std::string& refusal);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MACHINE_TOPOLOGY_H
