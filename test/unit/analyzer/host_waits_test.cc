// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/host_waits.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

// The definition, host by host: its ranks wait from their earliest arrivals until the latest moment
// at which the row may have come, and never longer than their walls together.
HostWaits::Most by_definition(const std::vector<RankTimes>& rows, std::size_t last,
                              std::uint32_t hosts) {
  HostWaits::Most most;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    std::int64_t walls_ns = 0;
    std::int64_t waits_ns = 0;
    bool is_known = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == last || rows[i].host != host) {
        continue;
      }
      const bool is_own = rows[last].host == host;
      is_known = is_own || (rows[last].clock_ns != facts::kUnknownClock_ns &&
                            rows[i].clock_ns != facts::kUnknownClock_ns);
      const std::int64_t clocks_ns =
          is_own || !is_known ? 0 : rows[last].clock_ns + rows[i].clock_ns;
      walls_ns += rows[i].end_ns - rows[i].arrival_ns;
      waits_ns += rows[last].arrival_ns + rows[last].error.early_ns + clocks_ns -
                  (rows[i].arrival_ns - rows[i].error.late_ns);
    }
    const std::int64_t here_ns =
        is_known ? std::clamp<std::int64_t>(waits_ns, 0, walls_ns) : walls_ns;
    most.all_ns += here_ns;
    most.in_host_ns += host == rows[last].host ? here_ns : 0;
  }
  return most;
}

TEST_CASE("what all may have waited for one rank is the sum over the hosts", "[host_waits]") {
  std::mt19937 random(3);
  const auto upto = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  HostWaits waits;
  for (int round = 0; round < 400; ++round) {
    const auto hosts = static_cast<std::uint32_t>(1 + upto(5));
    std::vector<std::int64_t> clocks_ns;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      clocks_ns.push_back(upto(9) == 0 ? facts::kUnknownClock_ns : upto(3'000));
    }
    // Also moments since the epoch, as real traces have them.
    const std::int64_t base_ns = round % 2 == 0 ? 0 : 1'790'000'000'000'000'000;
    std::vector<RankTimes> rows;
    for (std::int64_t i = 0, count = 2 + upto(20); i < count; ++i) {
      RankTimes row;
      row.host = static_cast<std::uint32_t>(upto(hosts - 1));
      row.clock_ns = clocks_ns[row.host];
      row.arrival_ns = base_ns + upto(10'000);
      row.end_ns = row.arrival_ns + upto(4) * upto(3'000);
      row.error = {upto(200), upto(200)};
      rows.push_back(row);
    }
    waits.set(rows, hosts + 1);  // a host of which no rank takes part
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const HostWaits::Most expected = by_definition(rows, i, hosts);
      const HostWaits::Most found = waits.until(rows[i]);
      REQUIRE(found.all_ns == expected.all_ns);
      REQUIRE(found.in_host_ns == expected.in_host_ns);
    }
  }
}

}  // namespace
}  // namespace ringside::metrics
