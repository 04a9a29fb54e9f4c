// SPDX-License-Identifier: Apache-2.0
//
// The last operations of each rank: how long it waited there, for whom, and who left them when.
#ifndef RINGSIDE_ANALYZER_METRICS_RANK_VISITS_H
#define RINGSIDE_ANALYZER_METRICS_RANK_VISITS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"

namespace ringside::metrics {

/// A part of a wait, and the rank that it is due to. Ranks are indices into GlobalRanks::all().
struct Origin {
  /// Stands in place of a rank for any of them.
  static constexpr std::uint32_t kAnyone = 0xFFFFFFFF;

  std::uint32_t rank = 0;
  std::int64_t waited_ns = 0;
};

/// The wait of a rank in one operation, or in several that follow each other and are as one.
struct Visit {
  bool holds_up_all = false;        // nobody left it before all had come
  std::vector<std::uint32_t> pair;  // its ranks, if it is one
  std::int64_t waited_ns = 0;       // surely
  std::int64_t most_ns = 0;
  std::int64_t held_up_ns = 0;  // the most that any other rank waited for this one to come
  std::vector<Origin> waited;   // surely, because of these
  /// The most that any rank of the operation waited, by the rank that it was due to.
  std::shared_ptr<const std::vector<Origin>> possible;
  // RankVisits::add() sets the others.
  std::uint64_t operation = 0;  // counted by RankVisits::begin()
  std::uint32_t communicator = 0;
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> own_end_ns;  // by the rank's own clock, if it was seen to run
  std::int64_t late_ns = 0;                // by which that may be late
  std::uint32_t thread = 0;
  model::NameId stream = model::kNoName;
  std::optional<std::uint64_t> group;  // in its file; those of a communicator are one kernel

  /// Returns how long the rank surely waited for another one.
  std::int64_t waited_for(std::uint32_t rank) const;
  /// Returns how much of what it surely waited may be due to another one.
  std::int64_t may_have_waited_for(std::uint32_t rank) const;
  /// By how much the rank left it later than another one of its visits, by its own clock if that is
  /// known.
  std::int64_t longer_ns(const Visit& other) const;
};

/// Operations are added in the order of their last arrivals. Ranks are indices into
/// GlobalRanks::all().
class RankVisits {
 public:
  /// Stands for a time that nothing limits.
  static constexpr std::int64_t kNoLimit_ns = std::numeric_limits<std::int64_t>::max();

  RankVisits(const facts::Facts& facts, const GlobalRanks& who);

  const facts::Facts& facts() const { return facts_; }
  bool has_communicators() const { return is_several_; }
  std::uint32_t rank_of(std::size_t operation, const facts::RankTimes& row) const;

  /// Counts an operation. Returns whether there is nothing to remember: in a single communicator
  /// the ranks leave such an operation together, so no earlier one makes one of them later than
  /// another.
  bool begin(bool holds_up_all);
  /// Returns the ranks of an operation, if it is a pair.
  std::vector<std::uint32_t> pair_of(std::size_t operation) const;
  /// Adds what a row of the operation did. Visits of one communicator that follow each other and
  /// held up all ranks become one.
  void add(std::size_t operation, const facts::RankTimes& row, Visit visit);

  /// The visits of a rank that are remembered, the latest first.
  const std::deque<Visit>& of(std::uint32_t rank) const { return visits_[rank]; }
  /// Whether earlier ones are remembered no more.
  bool is_cut(std::uint32_t rank) const { return is_cut_[rank]; }
  bool takes_part(const Visit& visit, std::uint32_t rank) const;
  /// Finds a rank's visit of that operation (Visit::operation); null if it is not remembered.
  const Visit* find(std::uint32_t rank, std::uint64_t operation) const;
  /// By how much the rank left an operation later than another one, at most.
  std::int64_t most_lead_ns(std::uint32_t rank, const Visit& visit, std::uint32_t other,
                            const Visit& of_other) const;
  /// How long a rank may have waited without another one, since it left `met`, one of its visits,
  /// or, without one, since both left an operation together: in that time it was delayed as well.
  /// Its waits on another stream may delay it after `met`, too.
  std::int64_t waited_elsewhere_ns(std::uint32_t rank, std::uint32_t other, const Visit* met) const;
  /// By how much a rank may have been delayed without another one, since that one went on to a
  /// visit: after the last operation before it on the same stream that both left.
  std::int64_t delayed_since_ns(const Visit& visit, std::uint32_t visitor,
                                std::uint32_t rank) const;
  /// How long a rank may have waited in operations that are remembered no more, since it left one
  /// together with another rank.
  std::int64_t forgotten_most_ns(std::uint32_t rank, std::uint32_t other) const;

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
                visit.waited_ns, visit.most_ns, visit.held_up_ns, visit.waited, place);
        visit.possible = shared.at(place);
      }
    }
  }

 private:
  // The last operation of a communicator that held up all its ranks.
  struct Met {
    std::uint32_t communicator = 0;
    std::uint64_t operation = 0;      // as Visit::operation
    std::int64_t waited_most_ns = 0;  // by the rank until then, in all of its operations
  };
  // So many visits of a rank are remembered.
  static constexpr std::size_t kVisits = 32;

  static bool are_one(const Visit& older, const Visit& newer);
  void join(Visit& older, Visit& newer);
  void note_met(std::uint32_t rank, const Visit& visit);

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
};

/// Makes one origin of those of the same rank: their number would grow with each operation in
/// between.
void join_origins(std::vector<Origin>& origins);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_RANK_VISITS_H
