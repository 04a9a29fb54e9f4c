// SPDX-License-Identifier: Apache-2.0
//
// Reads the GPUs of the machine through NVML.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_GPU_READER_H
#define RINGSIDE_PLUGIN_TOPOLOGY_GPU_READER_H

#include <atomic>

#include "plugin/topology/machine.h"
#include "plugin/topology/nvml.h"

namespace ringside::topology {

/// Reads all GPUs that NVML shows this process, into `machine.gpus`. A query that fails leaves its
/// value unknown, and the others go on. False, with the machine's state and reason, if NVML does
/// not list its GPUs, or `stop` was set meanwhile.
bool read_gpus(const Nvml& nvml, const std::atomic<bool>& stop, Machine& machine);

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_GPU_READER_H
