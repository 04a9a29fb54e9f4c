// SPDX-License-Identifier: Apache-2.0
//
// Finds the GPU that the calling thread uses. This asks the CUDA driver that the process has
// loaded; it loads and initialises nothing. Without a driver or a current device it returns
// nothing.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H
#define RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::topology {

struct GpuIdentity {
  int index = 0;     ///< CUDA's index of the device in this process
  std::string uuid;  ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; empty if not known
  std::string pci;   ///< "0000:3b:00.0"; empty if not known
};

std::optional<GpuIdentity> current_gpu();

/// Writes a UUID in the usual form: "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
inline std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_GPU_IDENTITY_H
