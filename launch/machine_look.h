// SPDX-License-Identifier: Apache-2.0
//
// The readings of the plugin's probe on this machine, for `ringside doctor`.
#ifndef RINGSIDE_ANALYZER_LAUNCH_MACHINE_LOOK_H
#define RINGSIDE_ANALYZER_LAUNCH_MACHINE_LOOK_H

#include <string>
#include <vector>

#include "plugin/topology/machine.h"

namespace ringside::launch {

struct MachineLook {
  std::string error;                  ///< why nothing is known; "": it is
  std::string summary;                ///< "8 GPUs with 18 NVLinks each, ..."; "": nobody looked
  std::vector<std::string> troubles;  ///< sentences without a full stop
};

/// Reads the machine in a child, since NVML may hang or crash.
MachineLook look_at_machine(const std::string& sysfs);

/// The summary and the troubles of a reading.
MachineLook describe_machine(const topology::Machine& machine);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_MACHINE_LOOK_H
