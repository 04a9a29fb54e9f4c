// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang_unaligned.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ringside::metrics {

std::vector<std::uint32_t> find_unaligned(const Hang& hang) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> in_flight;  // by file and call
  for (std::uint32_t i = 0; i < hang.positions.size(); ++i) {
    const Position& position = hang.positions[i];
    const auto& open = hang.matches.communicators[position.communicator].unaligned_members;
    if (!position.fronts.empty() && hang.shows(position.communicator) &&
        std::binary_search(open.begin(), open.end(), position.member)) {
      in_flight[{position.file, position.fronts.front().operation}] = i;
    }
  }
  for (std::size_t i = 0; !in_flight.empty() && i < hang.matches.parts.size(); ++i) {
    const match::Part part = hang.matches.parts[i];
    in_flight.erase({part.file, part.operation});
  }
  std::vector<std::uint32_t> positions;
  positions.reserve(in_flight.size());
  for (const auto& [call, position] : in_flight) {
    positions.push_back(position);
  }
  return positions;
}

}  // namespace ringside::metrics
