// SPDX-License-Identifier: Apache-2.0
//
// The rank for which an operation waited on one of its ranks.
#ifndef RINGSIDE_ANALYZER_METRICS_LATE_CAUSE_H
#define RINGSIDE_ANALYZER_METRICS_LATE_CAUSE_H

#include <cstdint>
#include <optional>
#include <span>
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

/// A moment at which one rank was surely waited for, and the stamps say that another came still
/// later, which the errors of its stamps leave open.
enum class LateBy : std::uint8_t {
  kSure,    // the first
  kStamps,  // the second; it has no margin
};

/// The causes of one operation after the other, of all its ranks.
class LateCauses {
 public:
  explicit LateCauses(LateBy by) : by_(by) {}

  /// `rows` are those of an operation, by arrival, and must stay as they are.
  void read(const facts::OperationFacts& known, std::span<const facts::RankTimes> rows);
  /// The row whose arrival this one had to wait for, by the stamps; this one itself, if others
  /// waited for it. kNobody if nobody waited.
  std::uint32_t row_for(std::uint32_t row) const;
  /// The cause where row_for() is `last`.
  LateCause cause(std::uint32_t last) const;

 private:
  const LateBy by_;
  std::span<const facts::RankTimes> rows_;
  bool is_impossible_ = false;
  bool all_are_seen_ = false;
  std::vector<std::optional<std::int64_t>> least_wait_ns_;  // by row that is surely waited for
};

/// The rank whose arrival `member` had to wait for, by the stamps; itself, if others waited for it.
/// Nothing if nobody waited. `rows` are then those of the operation, by arrival.
std::optional<LateCause> late_cause(const facts::Facts& facts, std::uint32_t operation,
                                    std::uint32_t member, std::vector<facts::RankTimes>& rows,
                                    LateBy by = LateBy::kSure);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LATE_CAUSE_H
