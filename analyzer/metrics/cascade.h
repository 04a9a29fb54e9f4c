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
#include <deque>
#include <map>
#include <memory>
#include <optional>
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
  static constexpr std::uint32_t kAnyone = 0xFFFFFFFF;

  Cascade(const facts::Facts& facts, const GlobalRanks& who);

  /// Whether pairs of charges are nearly always needed. Else somebody may be late for what happened
  /// in another operation only behind one that did not hold up all ranks alike.
  bool needs_pairs() const { return is_several_; }

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
    // Visits of one operation share what was possible.
    std::map<std::shared_ptr<const std::vector<Origin>>, std::uint64_t> places;
    std::vector<std::shared_ptr<const std::vector<Origin>>> shared;
    for (const std::deque<Visit>& of_rank : visits_) {
      for (const Visit& visit : of_rank) {
        if (places.try_emplace(visit.possible, shared.size()).second) {
          shared.push_back(visit.possible);
        }
      }
    }
    archive(shared, operations_, is_cut_, waited_most_ns_, met_);
    for (std::deque<Visit>& of_rank : visits_) {
      std::uint64_t size = of_rank.size();
      archive(size);
      of_rank.resize(size);
      for (Visit& visit : of_rank) {
        std::uint64_t place = places.empty() ? 0 : places[visit.possible];
        archive(visit.operation, visit.holds_up_all, visit.communicator, visit.pair, visit.end_ns,
                visit.own_end_ns, visit.late_ns, visit.thread, visit.stream, visit.group,
                visit.waited_ns, visit.most_ns, visit.waited, place);
        visit.possible = shared.at(place);
      }
    }
  }

 private:
  struct Visit {
    bool holds_up_all = false;        // nobody left it before all had come
    std::vector<std::uint32_t> pair;  // its ranks, if it is one
    std::int64_t waited_ns = 0;       // surely
    std::int64_t most_ns = 0;
    std::vector<Origin> waited;  // surely, because of these
    /// The most that any rank of the operation waited, by the rank that it was due to.
    std::shared_ptr<const std::vector<Origin>> possible;
    // add_visit() sets the others.
    std::uint64_t operation = 0;  // counted by operations_
    std::uint32_t communicator = 0;
    std::int64_t end_ns = 0;
    std::optional<std::int64_t> own_end_ns;  // by the rank's own clock, if it was seen to run
    std::int64_t late_ns = 0;                // by which that may be late
    std::uint32_t thread = 0;
    model::NameId stream = model::kNoName;
    std::optional<std::uint64_t> group;  // in its file; those of a communicator are one kernel
  };
  // The last operation of a communicator that held up all its ranks.
  struct Met {
    std::uint32_t communicator = 0;
    std::uint64_t operation = 0;      // counted by operations_
    std::int64_t waited_most_ns = 0;  // by the rank until then, in all of its operations
  };
  // A time of each of some ranks, kAnyone among them.
  class OfRanks {
   public:
    explicit OfRanks(std::size_t ranks) : times_ns_(ranks + 1, -1) {}

    void add(std::uint32_t rank, std::int64_t time_ns);
    void widen(std::uint32_t rank, std::int64_t time_ns);
    void sort() { std::sort(ranks_.begin(), ranks_.end()); }
    // Calls `take` with each rank and its time; then there are none.
    template <typename Take>
    void take_all(Take take);

   private:
    std::int64_t& find(std::uint32_t rank);

    std::vector<std::int64_t> times_ns_;  // by rank, kAnyone last; -1: it is not there
    std::vector<std::uint32_t> ranks_;
  };

  // By how much a rank was late for the waiter because of its wait in an earlier operation. What
  // the waiter itself waited in that or later ones, if both took part, delayed both; in others, it
  // may have.
  struct Delay {
    std::int64_t least_ns = 0;
    std::int64_t most_ns = 0;
  };
  // So many visits of a rank are remembered. Behind one of a communicator in which both ranks are,
  // only as many are looked at as may have run beside it.
  static constexpr std::size_t kVisits = 32;
  static constexpr std::size_t kBeside = 8;

  void add_visit(std::size_t operation, const facts::RankTimes& row, Visit visit);
  bool begin_visits(bool holds_up_all);
  std::vector<std::uint32_t> pair_of(std::size_t operation) const;
  static bool are_one(const Visit& older, const Visit& newer);
  void join(Visit& older, Visit& newer);
  bool takes_part(const Visit& visit, std::uint32_t rank) const;
  static std::int64_t longer_ns(const Visit& visit, const Visit& other);
  std::int64_t most_lead_ns(std::uint32_t rank, const Visit& visit, std::uint32_t other,
                            const Visit& of_other) const;
  std::int64_t waited_elsewhere_ns(std::uint32_t rank, std::uint32_t other, const Visit* met) const;
  std::int64_t delayed_since_ns(const Visit& visit, std::uint32_t visitor,
                                std::uint32_t rank) const;
  const Visit* visit_of(std::uint32_t rank, std::uint64_t operation) const;
  std::int64_t forgotten_most_ns(std::uint32_t rank, std::uint32_t other) const;
  void note_met(std::uint32_t rank, const Visit& visit);
  static std::int64_t waited_for(const Visit& visit, std::uint32_t rank);
  std::uint32_t rank_of(std::size_t operation, const facts::RankTimes& row) const;
  template <typename Take>
  std::int64_t for_each_cause(std::size_t operation, const facts::RankTimes& late,
                              std::uint32_t waiter, Take take) const;
  void divide_pair(std::size_t operation, const std::vector<facts::RankTimes>& rows,
                   const Charge& pair);
  const std::vector<Charge>& pairs_of(const std::vector<facts::RankTimes>& rows,
                                      const OperationCharges& charges);

  const facts::Facts& facts_;
  const GlobalRanks& who_;
  bool is_several_ = false;  // there are several communicators
  std::uint64_t operations_ = 0;
  std::vector<std::vector<std::uint32_t>> ranks_;  // by communicator, ascending
  std::vector<std::deque<Visit>> visits_;          // by rank, the latest first
  std::vector<bool> is_cut_;                       // by rank: some are remembered no more
  std::vector<std::int64_t> waited_most_ns_;       // by rank, in all operations
  std::vector<std::vector<Met>> met_;              // by rank, one for each communicator
  // The last that join() made.
  struct {
    std::shared_ptr<const std::vector<Origin>> older, newer, both;
  } joined_;
  // These are of one operation.
  std::vector<Possible> possible_;
  std::vector<Charge> pairs_;
  OfRanks of_waiter_;
  OfRanks of_pair_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CASCADE_H
