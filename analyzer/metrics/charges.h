// SPDX-License-Identifier: Apache-2.0
//
// Finds the ranks for which the others of one operation waited, both the sure waits and those that
// the clocks leave possible. docs/metrics.md defines them.
#ifndef RINGSIDE_ANALYZER_METRICS_CHARGES_H
#define RINGSIDE_ANALYZER_METRICS_CHARGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/host_waits.h"

namespace ringside::metrics {

/// How the ranks of an operation compare, if they were all alike.
enum class Likeness : std::uint8_t {
  kAlike,     // each of them is charged as easily as any other
  kRooted,    // only the root can be charged
  kDraining,  // only the root waits: each other one is charged as easily as any, and it is not
  kNone,      // they have different work, so that nothing says what an average rank would cause
};

/// One rank waited for another. Ranks are indices into the rows of the operation.
struct Charge {
  std::uint32_t waiter = 0;
  std::uint32_t charged = 0;
  std::int64_t waited_ns = 0;
};

/// All that others may have waited for one rank.
struct PossibleCharge {
  std::uint32_t charged = 0;
  std::int64_t most_ns = 0;
  std::int64_t most_in_host_ns = 0;  // of that, by ranks of its own host
  /// The time that a root would have waited for the others, had it needed them.
  std::int64_t mirrored_ns = 0;
};

struct OperationCharges {
  Likeness likeness = Likeness::kNone;
  std::uint32_t root = facts::RankTimes::kNobody;
  /// By row: what it surely waited, for whomever, and what it may have waited.
  std::vector<facts::Interval> waits;
  std::vector<Charge> surely;  // for the one that surely came last
  /// The waits of other hosts' ranks for a host that surely came last, if it is not sure which of
  /// its ranks did.
  std::vector<Charge> of_host;
  std::vector<PossibleCharge> possibly;  // at most one for each rank
  /// The same, if a rank may also hold others up that do not need it: because it passes data on, or
  /// its buffers are full. Else empty.
  std::vector<PossibleCharge> behind;
  std::vector<Charge> pairs;        // all that is possible for each waiter, by waiter
  bool has_pairs = false;           // else they are too many, or left out, or anybody's
  bool are_pairs_left_out = false;  // nobody has needed them so far: add_pairs() finds them
  bool holds_up_all = false;        // every rank needs every other

  /// All that others may have waited for each rank.
  const std::vector<PossibleCharge>& all_possible() const {
    return behind.empty() ? possibly : behind;
  }
};

/// Adds the pairs of an operation in which every rank needs every other. They are found where ranks
/// may have been held up by other operations.
void add_pairs(const std::vector<facts::RankTimes>& rows,
               const std::vector<PossibleCharge>& possibly, std::vector<Charge>& pairs);

/// Finds them. It keeps its memory from one operation to the next.
class ChargeFinder {
 public:
  /// With more pairs than this, there are none.
  static constexpr std::size_t kMostPairs = std::size_t{1} << 15U;
  /// The same where any rank may have held up any other: then there are as many each time.
  static constexpr std::size_t kMostPairsOfAll = std::size_t{1} << 12U;

  /// `needs_pairs`: else they are left out where every rank needs every other.
  ChargeFinder(const facts::Facts& facts, bool needs_pairs)
      : facts_(facts), needs_pairs_(needs_pairs) {}

  /// `rows` are the ranks of that operation, of which some were seen to run it, and `arrivals` are
  /// those of SeenOperation. The result is valid until the next call.
  const OperationCharges& find(std::size_t operation, facts::Basis basis,
                               const std::vector<facts::RankTimes>& rows,
                               const facts::Arrivals& arrivals);

 private:
  void leave_open(const std::vector<facts::RankTimes>& rows);
  void hold_up(const std::vector<facts::RankTimes>& rows);
  void hold_up_by_links(const std::vector<facts::RankTimes>& rows,
                        const std::vector<facts::Link>& links);
  void add_sure(const std::vector<facts::RankTimes>& rows, const facts::Latest& possible);
  void add_possible(const std::vector<facts::RankTimes>& rows, const facts::Latest& needed);
  void clear();
  void find_from_root(const std::vector<facts::RankTimes>& rows, std::uint32_t root);
  void find_by_facts(const std::vector<facts::RankTimes>& rows, const facts::FlowOfOperation& flow);

  const facts::Facts& facts_;
  const bool needs_pairs_;
  OperationCharges found_;
  HostWaits host_waits_;               // of this operation
  std::vector<std::int64_t> most_ns_;  // by row
  std::vector<std::int64_t> most_in_host_ns_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CHARGES_H
