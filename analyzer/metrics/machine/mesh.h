// SPDX-License-Identifier: Apache-2.0
//
// The NVLinks between the GPUs of one host, or of one fabric clique over several hosts, and the
// kind of graph that they are.
#ifndef RINGSIDE_ANALYZER_METRICS_MACHINE_MESH_H
#define RINGSIDE_ANALYZER_METRICS_MACHINE_MESH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/topology/machine.h"

namespace ringside::metrics {

enum class MeshKind : std::uint8_t {
  kNone,            // no two GPUs are linked
  kPartial,         // some are
  kHybridCubeMesh,  // two groups of four, each fully connected, and one link from each to its peer
  kSwitched,        // all are, through NVSwitches only
  kFullyConnected   // all are, some of them or all directly
};
inline constexpr std::array<std::string_view, 5> kMeshKindNames = {
    "none", "partial", "hybrid cube mesh", "switched", "fully connected"};

/// A GPU, and where it is: direct links are matched to other GPUs of its host.
struct MeshGpu {
  std::string label;  // "rank 3"
  std::string host;
  const topology::Gpu* gpu = nullptr;
};

struct Mesh {
  /// By GPU and GPU: the links from the one to the other that are up, as the first one's reading
  /// has them. Through switches they are the lesser of both GPUs' switch links, and these add to
  /// direct links. 0 on the diagonal.
  std::vector<std::vector<std::uint32_t>> links;
  /// The same, through switches alone.
  std::vector<std::vector<std::uint32_t>> switch_links;
  /// 10^6 bytes a second in one direction; nothing if the speed of a link is not known.
  std::vector<std::vector<std::optional<std::uint64_t>>> mbytes_s;
  /// The share of direct links alone; and what each GPU's switch links carry, all together.
  std::vector<std::vector<std::optional<std::uint64_t>>> direct_mbytes_s;
  std::vector<std::optional<std::uint64_t>> switch_mbytes_s;
  MeshKind kind = MeshKind::kNone;
};

/// `refusal` is a sentence if there is no mesh of these GPUs: two of them are the same device, or
/// some are on another host or in another fabric than the first.
std::optional<Mesh> make_mesh(const std::vector<MeshGpu>& gpus, std::string& refusal);

/// The kind of the graph. A pair is linked if both directions have links. A hybrid cube mesh is
/// proven: its two groups and the links between them are found.
MeshKind kind_of(const std::vector<std::vector<std::uint32_t>>& links,
                 const std::vector<std::vector<std::uint32_t>>& switch_links);

/// The data that an NVLink of this version carries in one direction, in 10^6 bytes a second. NVML
/// tells the rate of the line, which is more where the line has an encoding (26,562 for 25,000).
/// The lesser of both counts. Nothing if it is not known.
std::optional<std::uint64_t> data_rate_mbytes_s(const topology::NvLink& link);

/// What of a GPU's NVLinks is up and leads to switches. The rate is their sum; nothing if that of
/// one is not known.
struct SwitchSide {
  std::uint32_t links = 0;
  std::optional<std::uint64_t> mbytes_s = 0;
};
SwitchSide switch_side(const topology::Gpu& gpu);

/// The NVLink domain of a GPU: its fabric's cluster and clique, else its host.
std::string domain_of(const MeshGpu& gpu);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MACHINE_MESH_H
