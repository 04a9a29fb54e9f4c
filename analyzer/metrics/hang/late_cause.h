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
  /// The shortest wait of a rank for it; nothing if it is not sure which rank was waited for, or if
  /// the arrival of some rank was not seen.
  std::optional<std::int64_t> margin_ns;
};

/// The rank whose arrival `member` had to wait for, by the stamps; itself, if others waited for it.
/// Nothing if nobody waited. `rows` are then those of the operation, by arrival.
std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<facts::RankTimes>& rows);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_LATE_CAUSE_H
