// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/host_clocks.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ringside::align {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
// A time beyond this is damage, and must not overflow a sum.
constexpr std::int64_t kMostOffset_ns = std::int64_t{1} << 61;

std::int64_t bounded(std::int64_t time_ns) {
  return std::clamp(time_ns, -kMostOffset_ns, kMostOffset_ns);
}

// Today is beyond 2^60 ns since the epoch; this ends in 2043.
constexpr std::int64_t kMostSinceEpoch_ns = std::int64_t{1} << 61;

std::int64_t base_ns(const model::Process& process) {
  return std::clamp<std::int64_t>(process.base_time_s, 0, kMostSinceEpoch_ns / kSecond_ns) *
         kSecond_ns;
}

struct First {
  std::uint32_t host = 0;
  std::optional<std::int64_t> epoch_of_monotonic_ns;
};

}  // namespace

HostClocks find_host_clocks(const model::Traces& traces) {
  HostClocks found;
  std::map<std::string, First> known;  // by boot, else by name
  std::map<std::string, std::uint32_t> of_name;
  for (const model::TraceFile& file : traces.files) {
    const model::Process& process = file.process;
    const std::string key =
        process.boot_id.empty() ? "host " + process.host : "boot " + process.boot_id;
    const auto [at, is_new] = known.try_emplace(key);
    First& first = at->second;
    if (is_new) {
      first.host = static_cast<std::uint32_t>(found.hosts.size());
      const std::uint32_t number = ++of_name[process.host];
      found.hosts.push_back(
          {number == 1 ? process.host : process.host + " (" + std::to_string(number) + ')', 0});
    }
    ++found.hosts[first.host].files;
    found.host_of_file.push_back(first.host);
    std::int64_t since_epoch_ns = base_ns(process);
    if (!file.clocks.empty()) {
      const model::ClockReading& reading = file.clocks.front();
      const std::int64_t monotonic_less_ts =
          bounded(bounded(reading.monotonic_ns) - bounded(reading.ts_ns));
      if (!first.epoch_of_monotonic_ns) {
        first.epoch_of_monotonic_ns = since_epoch_ns - monotonic_less_ts;
      }
      since_epoch_ns = std::clamp(*first.epoch_of_monotonic_ns + bounded(monotonic_less_ts),
                                  -kMostSinceEpoch_ns, kMostSinceEpoch_ns);
    }
    found.since_epoch_ns.push_back(since_epoch_ns);
  }
  return found;
}

}  // namespace ringside::align
