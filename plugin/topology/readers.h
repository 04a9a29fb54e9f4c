// SPDX-License-Identifier: Apache-2.0
//
// Read the machine: its GPUs through NVML; from sysfs, what NVML does not say: the ports of
// InfiniBand and RoCE adapters, and where devices are on PCI. `root` is where sysfs is mounted.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_READERS_H
#define RINGSIDE_PLUGIN_TOPOLOGY_READERS_H

#include <atomic>
#include <string>

#include "plugin/topology/machine.h"
#include "plugin/topology/nvml.h"

namespace ringside::topology {

/// Reads all GPUs that NVML shows this process, into `machine.gpus`. A query that fails leaves its
/// value unknown, and the others go on. The machine's state says if NVML does not list its GPUs, or
/// `stop` was set meanwhile.
void read_gpus(const Nvml& nvml, const std::atomic<bool>& stop, Machine& machine);

/// Adds the PCI path and the NUMA node of each GPU that sysfs knows.
void read_places(const std::string& root, Machine& machine);

/// Reads all ports into `machine.ports`. An adapter that cannot be read is left out.
void read_ports(const std::string& root, Machine& machine);

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_READERS_H
