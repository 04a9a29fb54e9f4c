// SPDX-License-Identifier: Apache-2.0
//
// Where the time of each rank went: every moment from its first call to its last end is one of
// four. docs/metrics.md defines them.
#ifndef RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H
#define RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// One rank. Of several that hold at one moment the first counts; together they are span_ns.
struct RankShares {
  std::string label;
  std::string host;
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // of them, those whose execution is not known: in no share
  std::uint64_t undivided = 0;      // that synchronise, and whose waiting cannot be told: transfer
  std::int64_t span_ns = 0;         // from the first call to the last end
  std::int64_t transfer_ns = 0;     // an operation ran, and all its ranks may have come
  std::int64_t waiting_ns = 0;      // an operation ran, and surely a rank had not come yet
  std::int64_t enqueued_ns = 0;     // called, and not begun
  std::int64_t outside_ns = 0;      // nothing was called
};

/// Of each rank of the job that has operations, by number.
std::vector<RankShares> find_time_shares(const model::Traces& traces, const match::Matches& matches,
                                         const align::Alignment& alignment);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H
