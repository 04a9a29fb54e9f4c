// SPDX-License-Identifier: Apache-2.0
//
// All ranks' time, which the shares of the stragglers are of.
#ifndef RINGSIDE_ANALYZER_METRICS_RUN_TIMES_H
#define RINGSIDE_ANALYZER_METRICS_RUN_TIMES_H

#include <cstdint>
#include <map>
#include <set>

#include "analyzer/facts/rank_times.h"

namespace ringside::metrics {

/// From the first arrival to the last end of each run, times its ranks. A host's own clock measures
/// it, and that of the host that was there longest counts: so the hosts' clocks need not be known.
class RunTimes {
 public:
  /// A rank, by its index in GlobalRanks, has a run's whole time whenever it took part in
  /// something.
  void add_rank(std::uint32_t run, std::uint32_t rank) { ranks_[run].insert(rank); }
  void add_times(std::uint32_t run, const facts::RankTimes& row);
  std::int64_t all_ns() const;

 private:
  struct Span {
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };
  std::map<std::uint32_t, std::set<std::uint32_t>> ranks_;        // by run
  std::map<std::uint32_t, std::map<std::uint32_t, Span>> spans_;  // by run and host
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_RUN_TIMES_H
