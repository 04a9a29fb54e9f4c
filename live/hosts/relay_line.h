// SPDX-License-Identifier: Apache-2.0
//
// Texts on one line: what two ringsides on two hosts say to each other. The line passes a login
// shell, srun or kubectl unharmed, and other lines beside it (a banner) are passed over.
#ifndef RINGSIDE_LIVE_HOSTS_RELAY_LINE_H
#define RINGSIDE_LIVE_HOSTS_RELAY_LINE_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::live {

/// Returns the texts as a line of ASCII, newline included: "ringside-relay-1 " and then, in base64,
/// what zlib makes of them. Each text may hold any bytes, fewer than 4 GiB.
std::string relay_line(const std::vector<std::string>& texts);

/// Returns the texts of the first such line in `output`; nothing if there is none, or if it is
/// damaged, has more than a million texts, or more than `most_bytes` of them.
std::optional<std::vector<std::string>> read_relay_line(std::string_view output,
                                                        std::size_t most_bytes = std::size_t{256}
                                                                                 << 20);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_RELAY_LINE_H
