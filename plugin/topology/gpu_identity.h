// SPDX-License-Identifier: Apache-2.0
//
// Which GPU the calling thread uses, asked from the driver that is loaded already. Nothing is
// loaded or initialised for it; without a driver, or a current device, there is no answer.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H
#define RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H

#include <optional>
#include <string>

namespace ringside::topology {

struct GpuIdentity {
  int index = 0;     ///< CUDA's, in this process
  std::string uuid;  ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; empty if not told
  std::string pci;   ///< "0000:3b:00.0"; empty if not told
};

std::optional<GpuIdentity> current_gpu();

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H
