// SPDX-License-Identifier: Apache-2.0
//
// The topology from a file of another tool in the form of a job's topology. GPUs stand for ranks.
#ifndef RINGSIDE_ANALYZER_METRICS_MACHINE_FILE_TOPOLOGY_H
#define RINGSIDE_ANALYZER_METRICS_MACHINE_FILE_TOPOLOGY_H

#include <cstdint>
#include <utility>

#include "analyzer/metrics/machine/topology.h"
#include "analyzer/model/topology_file.h"

namespace ringside::metrics {

/// Its pointers are into the file. A GPU with fewer links than all others have to each other is a
/// finding, and so are hosts that are not alike.
Topology topology_of(const model::TopologyFile& file);

/// The least and the most links that a GPU has to another one; 0 if there is one GPU.
std::pair<std::uint32_t, std::uint32_t> link_range(const Mesh& mesh);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MACHINE_FILE_TOPOLOGY_H
