// SPDX-License-Identifier: Apache-2.0
//
// All ranks' time, which the shares of the stragglers are of.
#ifndef RINGSIDE_ANALYZER_METRICS_RUN_TIMES_H
#define RINGSIDE_ANALYZER_METRICS_RUN_TIMES_H

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analyzer/facts/rank_times.h"

namespace ringside::metrics {

/// From the first arrival to the last end of each run, times its ranks. A host's own clock measures
/// it, and that of the host that was there longest counts: so the hosts' clocks need not be known.
class RunTimes {
 public:
  /// A rank, by its index in GlobalRanks, has a run's whole time whenever it took part in
  /// something.
  void add_rank(std::uint32_t run, std::uint32_t rank);
  /// `rows` are of one operation.
  void add_times(std::uint32_t run, std::span<const facts::RankTimes> rows);
  std::int64_t all_ns() const;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(runs_);
  }

 private:
  struct Span {
    bool is_seen = false;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };
  struct Run {
    std::vector<bool> ranks;  // that took part
    std::vector<Span> hosts;

    template <typename Archive>
    void transfer(Archive& archive) {
      archive(ranks, hosts);
    }
  };
  std::map<std::uint32_t, Run> runs_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_RUN_TIMES_H
