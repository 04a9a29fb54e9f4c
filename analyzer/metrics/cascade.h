// SPDX-License-Identifier: Apache-2.0
//
// Finds the origin of a wait. A rank may be late only because it had waited for another one in an
// earlier operation. Then that other one is charged, and the rank itself has only passed the wait
// on.
#ifndef RINGSIDE_ANALYZER_METRICS_CASCADE_H
#define RINGSIDE_ANALYZER_METRICS_CASCADE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/charges.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/rank_visits.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

/// The least part of a wait that a late rank is charged itself, and the part that it surely passed
/// on.
struct Division {
  std::int64_t kept_ns = 0;
  std::int64_t passed_ns = 0;
};

/// Takes operations in the order of their last arrivals, and remembers the last ones of each rank:
/// those of one communicator that follow each other as one.
class Cascade {
 public:
  /// Stands in place of a rank for any of them.
  static constexpr std::uint32_t kAnyone = Origin::kAnyone;

  Cascade(const facts::Facts& facts, const GlobalRanks& who);

  /// Whether pairs of charges are nearly always needed. Else somebody may be late for what happened
  /// in another operation only behind one that did not hold up all ranks alike.
  bool needs_pairs() const { return visits_.has_communicators(); }

  /// Divides one wait among its origins, which are added to `origins`, each with what is surely due
  /// to it: those that the charged rank had waited for itself, and the charged rank.
  Division divide(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                  const Charge& charge, std::vector<Origin>& origins) const;

  /// The most that one rank may have waited because of another one, or because of anyone.
  struct Possible {
    std::uint32_t waiter = 0;  // index into the rows; kAnyone: all together
    Origin origin;
  };

  /// Finds how long each of the rows may have waited, because of which rank. The result is valid
  /// until the next call.
  const std::vector<Possible>& divide_possibly(std::size_t operation,
                                               const std::vector<facts::RankTimes>& rows,
                                               const OperationCharges& charges);

  /// Remembers the operation. `origins` of each row, in the order of the rows, are what its wait is
  /// surely due to; `charges` and the result of divide_possibly() are the same operation's.
  void remember(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                const OperationCharges& charges, const std::vector<std::vector<Origin>>& origins);

  /// Remembers an operation of which it is not known who waited: each rank that was seen to run it
  /// may have done so all the time, for anyone.
  void remember_open(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                     bool holds_up_all);

  /// All that it remembers.
  template <typename Archive>
  void transfer(Archive& archive) {
    visits_.transfer(archive);
  }

 private:
  // A time of each of some ranks, kAnyone among them.
  class OfRanks {
   public:
    explicit OfRanks(std::size_t ranks) : times_ns_(ranks + 1, -1) {}

    void add(std::uint32_t rank, std::int64_t time_ns) {
      std::int64_t& sum_ns = find(rank);
      sum_ns = add_saturating(sum_ns, time_ns);
    }
    void widen(std::uint32_t rank, std::int64_t time_ns) {
      std::int64_t& most_ns = find(rank);
      most_ns = std::max(most_ns, time_ns);
    }
    void sort() { std::sort(ranks_.begin(), ranks_.end()); }
    // Calls `take` with each rank and its time; then there are none.
    template <typename Take>
    void take_all(Take take);

   private:
    std::int64_t& find(std::uint32_t rank) {
      const std::size_t at = rank == kAnyone ? times_ns_.size() - 1 : rank;
      if (times_ns_[at] < 0) {
        times_ns_[at] = 0;
        ranks_.push_back(rank);
      }
      return times_ns_[at];
    }

    std::vector<std::int64_t> times_ns_;  // by rank, kAnyone last; -1: it is not there
    std::vector<std::uint32_t> ranks_;
  };

  void divide_pair(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                   const Charge& pair);
  const std::vector<Charge>& pairs_of(const std::vector<facts::RankTimes>& rows,
                                      const OperationCharges& charges);

  RankVisits visits_;
  // These are of one operation.
  std::vector<Possible> possible_;
  std::vector<Charge> pairs_;
  std::vector<std::int64_t> held_up_ns_;  // by row
  OfRanks of_waiter_;
  OfRanks of_pair_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CASCADE_H
