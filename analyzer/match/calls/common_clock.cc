// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/calls/common_clock.h"

#include "analyzer/match/communicators/communicators.h"

namespace ringside::match {

CommonClock realtime_clock(const model::Traces& traces) {
  constexpr std::int64_t kBetweenHosts_ns = 1'000'000'000;
  // Each process reads CLOCK_REALTIME when it starts. The clock may have been adjusted between two
  // readings.
  constexpr std::int64_t kWithinHost_ns = 1'000'000;
  CommonClock clock;
  clock.to_common_ns = [&traces](std::uint32_t file, std::int64_t time_ns) {
    return since_epoch(traces.files[file].process, time_ns);
  };
  clock.uncertainty_ns = [&traces](std::uint32_t file, std::uint32_t other) {
    const std::string& boot_id = traces.files[file].process.boot_id;
    const bool is_same_host = !boot_id.empty() && boot_id == traces.files[other].process.boot_id;
    return is_same_host ? kWithinHost_ns : kBetweenHosts_ns;
  };
  return clock;
}

}  // namespace ringside::match
