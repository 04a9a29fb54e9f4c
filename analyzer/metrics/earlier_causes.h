// SPDX-License-Identifier: Apache-2.0
//
// Finds the earlier operations in which a late rank may have got late.
#ifndef RINGSIDE_ANALYZER_METRICS_EARLIER_CAUSES_H
#define RINGSIDE_ANALYZER_METRICS_EARLIER_CAUSES_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/rank_visits.h"

namespace ringside::metrics {

/// The time by which a rank was late for a waiter because of its wait in an earlier operation. The
/// waiter's own waits in that operation and in later ones delayed both if both took part. Its waits
/// in other operations may have.
struct Delay {
  std::int64_t least_ns = 0;
  std::int64_t most_ns = 0;
};

/// The causes of one rank's lateness for another one in one operation, which is added to the visits
/// only afterwards.
class EarlierCauses {
 public:
  /// `late`: the row of the rank that came late. `waiter`: the rank that waited for it. The visits
  /// must outlive it.
  EarlierCauses(const RankVisits& visits, std::size_t operation, const facts::RankTimes& late,
                std::uint32_t waiter);

  struct Cause {
    const Visit* visit = nullptr;
    Delay delay;
  };

  /// The next earlier operation, the latest first; nothing if there is none.
  std::optional<Cause> next();
  /// When there is no next: by how much earlier ones, which are not remembered, may have delayed
  /// it, too.
  std::int64_t rest_ns() const;

 private:
  // When a visit was over against the begin of the operation.
  enum class Order { kAfter, kPerhapsBefore, kBefore };
  // Behind an operation of a communicator in which both ranks are and that held up all, only so
  // many visits are looked at: as many as may have run beside it.
  static constexpr std::size_t kBeside = 8;

  bool is_on_stream(const Visit& visit) const;
  bool is_elsewhere(const Visit& visit) const;
  Order order_of(const Visit& visit) const;
  std::int64_t meet(const Visit& visit, bool is_surely_before);
  void note_elsewhere(const Visit& visit);

  const RankVisits& visits_;
  const facts::RankTimes& late_;
  const std::uint32_t late_rank_;
  const std::uint32_t waiter_;
  const std::uint32_t communicator_;
  const model::Operation own_;
  std::deque<Visit>::const_iterator next_;
  Delay alike_;  // what the waiter waited, less what the late rank did in the same time
  // The last that both left together. Only what held the late rank for longer delayed it alone.
  const Visit* together_ = nullptr;
  // An operation in which both took part limits all delays before it: to the time by which the late
  // rank left it later. This is the least limit, and its operation.
  std::int64_t lead_ns_ = RankVisits::kNoLimit_ns;
  const Visit* apart_ = nullptr;
  // Computing on another stream, which is not in the trace, may stay behind by what a wait delayed
  // it, while the waiter's hides its own waits. So at each operation of both the late rank has come
  // late by as much.
  std::int64_t hidden_ns_ = RankVisits::kNoLimit_ns;
  std::size_t behind_ = 0;  // visits since they met where all were held up
  // The part of alike_.most_ns that the waiter may have waited elsewhere, and the most that this
  // can be.
  std::int64_t elsewhere_ns_ = 0;
  std::int64_t most_elsewhere_ns_ = RankVisits::kNoLimit_ns;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_EARLIER_CAUSES_H
