// SPDX-License-Identifier: Apache-2.0
//
// Where the time of each rank went: every moment from its first call to its last end is one of
// four. docs/metrics.md defines them.
#ifndef RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H
#define RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// One rank. Of several that hold at one moment the first counts; together they are span_ns.
struct RankShares {
  std::string label;
  std::string host;
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // of them, those whose execution is not known: in no share
  std::uint64_t undivided = 0;      // whose waiting is open by more than half of their time
  std::int64_t span_ns = 0;         // from the first call to the last end
  std::int64_t transfer_ns = 0;     // an operation ran, and it may have had all that it needs
  std::int64_t waiting_ns = 0;      // an operation ran, and surely waited for another rank
  std::int64_t open_ns = 0;         // of transfer_ns, so much may be waiting at most
  std::int64_t enqueued_ns = 0;     // called, and not begun
  std::int64_t outside_ns = 0;      // nothing was called

  /// False where nothing is known of it: waiting_ns is 0 then, and says nothing.
  bool knows_waiting() const { return undivided == 0 || waiting_ns > 0; }
};

/// Of each rank of the job that has operations, by number.
std::vector<RankShares> find_time_shares(const facts::Facts& facts);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H
