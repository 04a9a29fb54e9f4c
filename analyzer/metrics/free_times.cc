// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/free_times.h"

#include <algorithm>
#include <limits>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

FreeTimes::FreeTimes(const std::vector<match::Communicator>& communicators) {
  for (const match::Communicator& communicator : communicators) {
    ready_ns_.emplace_back(communicator.members.size(), std::numeric_limits<std::int64_t>::min());
    is_ready_seen_.emplace_back(communicator.members.size());
  }
}

void FreeTimes::note_ends(std::uint32_t communicator, const std::vector<facts::RankTimes>& rows,
                          bool is_seen) {
  for (const facts::RankTimes& row : rows) {
    is_ready_seen_[communicator][row.member] = is_seen;
    // An operation with times from the network began when its data moved: its ranks' waits before
    // that are not in it.
    if (row.times_from != model::TimesFrom::kProxy) {
      std::int64_t& ready_ns = ready_ns_[communicator][row.member];
      ready_ns = std::max(ready_ns, row.end_ns);
    }
  }
}

std::optional<std::int64_t> FreeTimes::of(std::uint32_t communicator,
                                          const facts::RankTimes& row) const {
  const std::int64_t ready_ns = ready_ns_[communicator][row.member];
  return is_ready_seen_[communicator][row.member]
             ? std::optional(subtract_saturating(row.arrival_ns, ready_ns))
             : std::nullopt;
}

}  // namespace ringside::metrics
