// SPDX-License-Identifier: Apache-2.0
#include "live/last_events.h"

#include <algorithm>
#include <cstddef>

namespace ringside::live {

double LastEvents::look(const std::string& process, std::uint64_t events, std::int64_t now_ns) {
  // Of processes that have ended nothing says so here: now and then all begin anew.
  constexpr std::size_t kMostSeen = 10'000;
  constexpr double kNsInSecond = 1e9;
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostSeen) {
    seen_.clear();
  }
  const auto [place, is_new] = seen_.try_emplace(process, Seen{events, now_ns});
  Seen& seen = place->second;
  if (seen.events != events || now_ns < seen.since_ns) {
    seen = {events, now_ns};
  }
  return static_cast<double>(now_ns - seen.since_ns) / kNsInSecond;
}

}  // namespace ringside::live
