// SPDX-License-Identifier: Apache-2.0
//
// Sums up over all operations what the lateness of each rank and host costs the others.
#ifndef RINGSIDE_ANALYZER_METRICS_LATE_COSTS_H
#define RINGSIDE_ANALYZER_METRICS_LATE_COSTS_H

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/metrics/cascade.h"
#include "analyzer/metrics/charge_blocks.h"
#include "analyzer/metrics/charges.h"
#include "analyzer/metrics/free_times.h"
#include "analyzer/metrics/fresh_waits.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/grouping.h"
#include "analyzer/metrics/run_times.h"
#include "analyzer/metrics/stragglers.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

/// A rank or a host that may be late.
struct Suspect {
  Lateness facts;
  std::uint32_t host = 0;
  std::int64_t cost_elsewhere_ns = 0;  // of a rank: what ranks of other hosts waited because of it
  std::vector<LateEvent> events;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(facts, cost_elsewhere_ns, events);
  }
};

class LateCosts {
 public:
  /// `by`: what the waiting is summed up by.
  LateCosts(const facts::Facts& facts, RowsBy by);

  /// Goes through all operations on several ranks, which `also` sums up besides. False if their
  /// order may be another one where other operations come before or after them.
  bool add_all(const facts::Fold& also);
  /// `ranks`, `hosts` and `counts` are complete afterwards.
  void finish();

  /// All that operations have added up to, for another process that goes on with later ones. Names
  /// must have the same numbers there.
  template <typename Archive>
  void transfer(Archive& archive) {
    archive(ranks, hosts, counts, cascade_, blocks_, free_times_, fresh_waits_, times_, open_ns_,
            waited_);
  }

  std::vector<Suspect> ranks;  // as in GlobalRanks
  std::vector<Suspect> hosts;  // as in Alignment::hosts()
  Stragglers counts;
  const ChargeBlocks& blocks() const { return blocks_; }

 private:
  // The charges of one rank in one operation.
  struct OfRow {
    std::int64_t direct_ns = 0;
    std::int64_t of_host_ns = 0;  // what its host is charged, and it is not sure for which rank
    std::int64_t margin_ns = 0;
    std::int64_t in_host_ns = 0;  // of direct_ns: by ranks of its host
    BlockCharge block;            // what it did not pass on
  };

  // The ranks that take part in an operation, and their hosts.
  struct Parties {
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint32_t> hosts;
  };

  // One operation, which needs nothing of those before it.
  struct Read {
    facts::OperationFacts known;
    std::vector<facts::RankTimes> rows;
    bool has_charges = false;   // else nothing is known of who waited
    bool is_unseen = false;     // Stragglers::unseen counts it
    bool holds_up_all = false;  // where it has no charges: nobody left it before all had come
    OperationCharges charges;
  };

  std::vector<std::span<const std::uint32_t>> portions_of(
      std::span<const std::uint32_t> order) const;
  // Takes what is at hand of an operation.
  void take(const facts::SeenOperation& seen, ChargeFinder& finder, Read& made) const;
  void add(std::uint32_t operation, Read& read);
  const Parties& count_parts(const match::MatchedOperation& operation);
  const Parties& parties_of(const match::MatchedOperation& operation);
  void charge(std::uint32_t operation, const Parties& parties, const Read& read);
  FreshWaits::Place place_of(const match::MatchedOperation& matched,
                             const OperationCharges& charges, std::uint32_t row) const;
  void take_waits(const match::MatchedOperation& matched, const OperationCharges& charges);
  void take(const match::MatchedOperation& matched, const Charge& one, const Division& division,
            bool is_compared);
  void take_of_host(const Charge& one, std::int64_t kept_ns);
  std::int64_t fresh_part_of(const Charge& one, std::int64_t ns) const;
  PossibleCharge fresh_part_of(const PossibleCharge& one) const;
  void take_possible(std::uint32_t operation, const OperationCharges& charges);
  void add_to_blocks(const facts::OperationFacts& known, const OperationCharges& charges);
  void note_last(const match::MatchedOperation& matched);
  std::uint32_t rank_of(const match::MatchedOperation& operation, std::uint32_t row) const {
    return who_.of(operation.communicator, rows_[row].member);
  }

  const facts::Facts& facts_;
  const match::Matches& matches_;
  const Grouping grouping_;
  std::map<std::pair<std::uint32_t, std::string>, WaitedAt> waited_;  // by group and function
  const GlobalRanks who_;
  Cascade cascade_;
  ChargeBlocks blocks_;
  FreeTimes free_times_;
  FreshWaits fresh_waits_;
  RunTimes times_;
  std::vector<Parties> whole_;  // by communicator: of operations of all its members
  std::int64_t open_ns_ = 0;    // anyone may have caused that, besides
  // These are of one operation, and are kept for their memory.
  std::vector<facts::RankTimes> rows_;
  std::vector<OfRow> of_rows_;
  std::vector<facts::Interval> fresh_;  // of their waits: what counts
  bool is_all_fresh_ = false;           // all of them count wholly
  std::vector<TimeSum> fresh_most_of_host_;
  TimeSum fresh_most_;                        // of all
  std::vector<std::vector<Origin>> origins_;  // by waiter
  Parties parties_;
  std::vector<std::int64_t> most_elsewhere_ns_;  // by host
  std::vector<std::uint32_t> hosts_elsewhere_;   // of which that is above 0
};

/// Says who is late, by the costs of all operations.
Stragglers judge_costs(LateCosts&& costs);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LATE_COSTS_H
