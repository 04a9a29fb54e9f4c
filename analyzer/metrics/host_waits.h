// SPDX-License-Identifier: Apache-2.0
//
// Bounds how long all ranks of an operation together may have waited for one of them, host by host.
#ifndef RINGSIDE_ANALYZER_METRICS_HOST_WAITS_H
#define RINGSIDE_ANALYZER_METRICS_HOST_WAITS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/facts/rank_times.h"

namespace ringside::metrics {

/// The r ranks of a host, whose arrivals are a and whose walls are w, wait until the moment t for
/// min(sum of w, r t - sum of a) together at most, and never less than 0. With an unknown clock
/// between, it is the sum of w. The sum over all hosts is a line of pieces in t: it is made once
/// for an operation, and read in the logarithm of the hosts for each rank.
class HostWaits {
 public:
  struct Most {
    std::int64_t all_ns = 0;
    std::int64_t in_host_ns = 0;  // of that, by ranks of its own host
  };

  /// `rows` are those of one operation. Its memory is kept from one operation to the next.
  void set(std::span<const facts::RankTimes> rows, std::size_t hosts);
  /// How long the others may have waited for that row, if it was the last.
  Most until(const facts::RankTimes& row) const;

 private:
  // Differences of times are from a moment of the operation, so that sums do not overflow.
  __extension__ using Wide = __int128;

  struct Host {
    std::int64_t ranks = 0;
    std::int64_t clock_ns = 0;
    std::int64_t wall_ns = 0;  // of all its ranks, at most
    Wide sum_ns = 0;           // of the arrivals, as early as they may have been
  };
  // From `from_ns` on, the hosts whose clocks are known wait for ranks * t + constant_ns.
  struct Piece {
    std::int64_t from_ns = 0;
    std::int64_t ranks = 0;
    Wide constant_ns = 0;
  };

  void add_pieces(const Host& host);
  static Wide of_host(const Host& host, std::int64_t until_ns);

  std::int64_t base_ns_ = 0;
  std::int64_t unknown_ns_ = 0;  // the walls of hosts whose clocks are not known
  std::vector<Host> hosts_;
  std::vector<Piece> pieces_;  // by from_ns
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HOST_WAITS_H
