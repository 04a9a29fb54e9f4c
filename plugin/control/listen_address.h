// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_PLUGIN_CONTROL_LISTEN_ADDRESS_H
#define RINGSIDE_PLUGIN_CONTROL_LISTEN_ADDRESS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::control {

struct ListenAddress {
  std::string host = "127.0.0.1";  ///< IPv4, in numbers
  std::uint16_t port = 0;          ///< 0: any that is free
};

/// "[HOST:]PORT"; nothing if it is anything else.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONTROL_LISTEN_ADDRESS_H
