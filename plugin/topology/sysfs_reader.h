// SPDX-License-Identifier: Apache-2.0
//
// Reads from sysfs what NVML does not tell: the ports of InfiniBand and RoCE adapters, and where
// devices are on PCI. `root` is where sysfs is mounted.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_SYSFS_READER_H
#define RINGSIDE_PLUGIN_TOPOLOGY_SYSFS_READER_H

#include <string>

#include "plugin/topology/machine.h"

namespace ringside::topology {

/// Adds the PCI path and the NUMA node of each GPU that sysfs knows.
void read_places(const std::string& root, Machine& machine);

/// Reads all ports into `machine.ports`. An adapter that cannot be read is left out.
void read_ports(const std::string& root, Machine& machine);

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_SYSFS_READER_H
