// SPDX-License-Identifier: Apache-2.0
//
// The rank for which an operation waited on one of its ranks.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_LATE_CAUSE_H
#define RINGSIDE_ANALYZER_METRICS_HANG_LATE_CAUSE_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

struct LateCause {
  std::uint32_t member = 0;  // index into Communicator::members
  std::uint32_t part = 0;    // index into Matches::parts
  std::int64_t arrival_ns = 0;
  bool is_sure = false;  // the arrivals of all ranks were seen
};

/// The row whose arrival `own` had to wait for, by the stamps; itself, if that came no later. Rows
/// are those of the operation, by arrival.
std::uint32_t waited_for(const facts::Facts& facts, std::uint32_t operation,
                         const std::vector<facts::RankTimes>& rows, std::uint32_t own);

/// The rank whose arrival `member` had to wait for, by the stamps; itself, if others waited for it.
/// Nothing if nobody waited. `rows` are then those of the operation, by arrival.
std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<facts::RankTimes>& rows);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_LATE_CAUSE_H
