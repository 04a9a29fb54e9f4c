// SPDX-License-Identifier: Apache-2.0
//
// Who is the origin of a wait. A rank may be late only because it had waited for another one in an
// earlier operation. Then that other one is charged, and the rank itself has only passed it on.
#ifndef RINGSIDE_ANALYZER_METRICS_CASCADE_H
#define RINGSIDE_ANALYZER_METRICS_CASCADE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/charges.h"
#include "analyzer/metrics/global_ranks.h"

namespace ringside::metrics {

/// A part of a wait, and the rank that it is due to. Ranks are indices into GlobalRanks::all().
struct Origin {
  std::uint32_t rank = 0;
  std::int64_t waited_ns = 0;
};

/// Takes operations in the order of their last arrivals, and remembers the last few of each rank.
class Cascade {
 public:
  Cascade(const facts::Facts& facts, const GlobalRanks& who);

  /// Divides one wait among its origins, which are `origins` afterwards: those that the charged
  /// rank had waited for itself, and the charged rank with what is left, which is returned.
  std::int64_t divide(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                      const Charge& charge, std::vector<Origin>& origins);

  /// Remembers the operation. `origins` of each row, in the order of the rows, are what its wait is
  /// due to.
  void remember(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                const std::vector<std::vector<Origin>>& origins);

 private:
  struct Visit {
    std::size_t operation = 0;
    std::int64_t end_ns = 0;
    std::uint32_t thread = 0;
    model::NameId stream = model::kNoName;
    std::vector<Origin> waited;
  };
  // A wait further back than so many operations of the rank explains nothing.
  static constexpr std::size_t kVisits = 8;

  bool takes_part(std::size_t operation, std::uint32_t rank) const;
  std::uint32_t rank_of(std::size_t operation, const facts::RankTimes& row) const;

  const facts::Facts& facts_;
  const GlobalRanks& who_;
  bool is_needed_ = false;  // somebody may be late for what happened in another operation
  std::vector<std::vector<std::uint32_t>> ranks_;  // by communicator, ascending
  std::vector<std::deque<Visit>> visits_;          // by rank, the latest first
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CASCADE_H
