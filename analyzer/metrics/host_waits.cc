// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/host_waits.h"

#include <algorithm>
#include <limits>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;

template <typename Wide>
std::int64_t narrowed(Wide value) {
  using Limits = std::numeric_limits<std::int64_t>;
  return static_cast<std::int64_t>(
      std::clamp<Wide>(value, Wide{Limits::min()}, Wide{Limits::max()}));
}

// Rounded up, for a divisor above 0.
template <typename Wide>
Wide divided_up(Wide dividend, std::int64_t divisor) {
  const Wide quotient = dividend / divisor;
  return quotient + (dividend % divisor > 0 ? 1 : 0);
}

}  // namespace

void HostWaits::set(std::span<const RankTimes> rows, std::size_t hosts) {
  base_ns_ = rows.front().arrival_ns;
  unknown_ns_ = 0;
  hosts_.assign(hosts, {});
  pieces_.clear();
  for (const RankTimes& row : rows) {
    Host& host = hosts_[row.host];
    ++host.ranks;
    host.clock_ns = row.clock_ns;
    host.wall_ns = add_saturating(host.wall_ns, row.most_wall_ns());
    host.sum_ns += subtract_saturating(row.earliest_ns(), base_ns_);
  }
  for (const Host& host : hosts_) {
    if (host.ranks > 0 && host.clock_ns == facts::kUnknownClock_ns) {
      unknown_ns_ = add_saturating(unknown_ns_, host.wall_ns);
    } else if (host.ranks > 0) {
      add_pieces(host);
    }
  }
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.from_ns < b.from_ns; });
  Piece sum;
  for (Piece& piece : pieces_) {
    piece.ranks = sum.ranks += piece.ranks;
    piece.constant_ns = sum.constant_ns += piece.constant_ns;
  }
}

// The host's ranks begin to wait at one moment, and have waited for all of their walls at another.
void HostWaits::add_pieces(const Host& host) {
  const Wide constant_ns = Wide{host.ranks} * host.clock_ns - host.sum_ns;
  const std::int64_t begin_ns = narrowed(divided_up(-constant_ns, host.ranks));
  const std::int64_t end_ns = narrowed(divided_up(host.wall_ns - constant_ns, host.ranks));
  pieces_.push_back({begin_ns, host.ranks, constant_ns});
  pieces_.push_back({end_ns, -host.ranks, host.wall_ns - constant_ns});
}

HostWaits::Wide HostWaits::of_host(const Host& host, std::int64_t until_ns) {
  return std::clamp<Wide>(Wide{host.ranks} * until_ns - host.sum_ns, 0, host.wall_ns);
}

HostWaits::Most HostWaits::until(const RankTimes& row) const {
  const Host& own = hosts_[row.host];
  const std::int64_t late_ns = subtract_saturating(row.latest_ns(), base_ns_);
  Host others = own;
  --others.ranks;
  others.wall_ns = subtract_saturating(own.wall_ns, row.most_wall_ns());
  others.sum_ns -= subtract_saturating(row.earliest_ns(), base_ns_);
  Most most;
  most.in_host_ns = narrowed(of_host(others, late_ns));
  Wide elsewhere_ns = unknown_ns_;
  if (row.clock_ns == facts::kUnknownClock_ns) {
    // Its own host is one of those whose clocks are not known.
    elsewhere_ns -= own.wall_ns;
    for (const Host& host : hosts_) {
      elsewhere_ns += host.clock_ns == facts::kUnknownClock_ns ? 0 : host.wall_ns;
    }
  } else {
    const std::int64_t until_ns = add_saturating(late_ns, row.clock_ns);
    const auto next = std::upper_bound(
        pieces_.begin(), pieces_.end(), until_ns,
        [](std::int64_t moment_ns, const Piece& piece) { return moment_ns < piece.from_ns; });
    if (next != pieces_.begin()) {
      elsewhere_ns += Wide{(next - 1)->ranks} * until_ns + (next - 1)->constant_ns;
    }
    elsewhere_ns -= of_host(own, add_saturating(until_ns, own.clock_ns));
  }
  most.all_ns = narrowed(elsewhere_ns + most.in_host_ns);
  return most;
}

}  // namespace ringside::metrics
