// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/listen_address.h"

#include <arpa/inet.h>
#include <charconv>

namespace ringside::live {

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress address;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    address.host = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  in_addr parsed{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), address.port);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size() ||
      inet_pton(AF_INET, address.host.c_str(), &parsed) != 1) {
    return std::nullopt;
  }
  return address;
}

}  // namespace ringside::live
