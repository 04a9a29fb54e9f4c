// SPDX-License-Identifier: Apache-2.0
//
// The ports of network adapters that a GPU's data is thought to pass.
#ifndef RINGSIDE_ANALYZER_METRICS_MACHINE_NEAR_PORTS_H
#define RINGSIDE_ANALYZER_METRICS_MACHINE_NEAR_PORTS_H

#include <optional>
#include <vector>

#include "analyzer/model/trace.h"
#include "plugin/topology/machine.h"

namespace ringside::metrics {

/// The ports that are nearest to the GPU on PCI, among those that NCCL may use: ACTIVE, and not
/// excluded by NCCL_IB_HCA. Nothing if the process has no reading, the place of a port is not
/// known, no port is left, or NCCL was told not to use them (NCCL_IB_DISABLE, NCCL_NET). The
/// pointers are those of the file's first reading, as `gpu` is.
std::optional<std::vector<const topology::Port*>> near_ports(const model::TraceFile& file,
                                                             const topology::Gpu& gpu);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MACHINE_NEAR_PORTS_H
