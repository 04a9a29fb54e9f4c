// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LIVE_LISTEN_ADDRESS_H
#define RINGSIDE_ANALYZER_LIVE_LISTEN_ADDRESS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::live {

struct ListenAddress {
  std::string host = "127.0.0.1";  ///< IPv4, in numbers
  std::uint16_t port = 0;          ///< 0: any that is free
};

/// "[HOST:]PORT"; nothing if it is anything else.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_LISTEN_ADDRESS_H
