// SPDX-License-Identifier: Apache-2.0
//
// Finds the GPU that the calling thread uses. This asks the CUDA driver that the process has
// loaded; it loads and initialises nothing. Without a driver or a current device it returns
// nothing.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H
#define RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H

#include <optional>
#include <string>

namespace ringside::topology {

struct GpuIdentity {
  int index = 0;     ///< CUDA's index of the device in this process
  std::string uuid;  ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; empty if not known
  std::string pci;   ///< "0000:3b:00.0"; empty if not known
};

std::optional<GpuIdentity> current_gpu();

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H
