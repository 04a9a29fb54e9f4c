// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_UUID_TEXT_H
#define RINGSIDE_PLUGIN_TOPOLOGY_UUID_TEXT_H

#include <array>
#include <string>
#include <string_view>

namespace ringside::topology {

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

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_UUID_TEXT_H
