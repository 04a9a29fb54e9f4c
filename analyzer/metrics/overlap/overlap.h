// SPDX-License-Identifier: Apache-2.0
//
// Finds how much of the time a rank communicates, and which communicators do so at the same time. A
// trace of NCCL does not show when the GPU computes. So communication is exposed for at most the
// time in which any operation runs; waiting for other ranks is a part of it.
#ifndef RINGSIDE_ANALYZER_METRICS_OVERLAP_OVERLAP_H
#define RINGSIDE_ANALYZER_METRICS_OVERLAP_OVERLAP_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/model/packed_table.h"

namespace ringside::metrics {

/// One rank. All times are sums over its operations whose execution is known.
struct RankOverlap {
  std::string label;
  std::string host;
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // their execution is not known
  std::int64_t span_ns = 0;         // from its first start to its last end
  std::int64_t busy_ns = 0;         // in which at least one operation ran
  std::int64_t summed_ns = 0;       // of all operations, overlap counted for each
  std::int64_t together_ns = 0;     // in which operations of two or more communicators ran
  /// For other ranks, within its operations: the best guess, and what it is at least and at most.
  /// A wait in several operations at once counts once.
  std::int64_t waiting_ns = 0;
  std::int64_t waiting_least_ns = 0;
  std::int64_t waiting_most_ns = 0;
  std::uint64_t waiting_unknown = 0;  // operations whose times contradict each other

  /// Whether no more is open than half of the time in which it communicates.
  bool knows_waiting() const { return waiting_most_ns - waiting_least_ns <= busy_ns / 2; }

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(operations, without_times, span_ns, busy_ns, summed_ns, together_ns, waiting_ns,
            waiting_least_ns, waiting_most_ns, waiting_unknown);
  }
};

struct PairOverlap {
  std::uint32_t first = 0;  // indices of communicators
  std::uint32_t second = 0;
  std::int64_t together_ns = 0;  // over all ranks
};

struct Overlap {
  std::vector<RankOverlap> ranks;
  std::vector<PairOverlap> pairs;                         // most first
  std::map<std::uint32_t, std::int64_t> of_communicator;  // busy time, over all ranks

  /// Joins what was found of other ranks, or by other operations. Ranks keep their labels and
  /// hosts, which are not in an archive.
  void take(const Overlap& more);

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(ranks, pairs, of_communicator);
  }
};

Overlap find_overlap(const facts::Facts& facts);

// The same in two parts. What ran on a rank needs all rows of that rank, and when it waited needs
// all rows of an operation; each may be in another process.

/// Finds all but the waiting, of the ranks whose rows are here. The others are there, too.
Overlap find_running(const facts::Facts& facts);

/// When a rank waited in one operation. The columns: the rank, an index into Overlap::ranks; then
/// the beginning and the length of the best guess, of the least and of the most. A length of 0: it
/// did not wait. Then the last moment at which it may have waited, and the communicator.
using WaitTable = model::PackedTable<std::array<std::size_t, 9>{0, 1, 2, 1, 4, 1, 6, 1, 8}>;

/// Calls take(row) for each wait in operations whose rows are here, and counts those whose times
/// contradict each other.
void find_waits(const facts::Facts& facts, Overlap& overlap,
                const std::function<void(const WaitTable::Row& row)>& take);

/// Sums up when ranks waited. A rank waits once in operations that run at the same time.
class WaitingRanks {
 public:
  explicit WaitingRanks(std::size_t ranks) : ranks_(ranks) {}

  void add(const WaitTable::Row& row);
  /// To be called once.
  void finish(Overlap& overlap);

 private:
  using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

  /// A wait that is possible: as long as this, and at any time up to `last_ns`.
  struct Possible {
    std::int64_t from_ns = 0;
    std::int64_t until_ns = 0;
    std::int64_t last_ns = 0;
    std::uint32_t communicator = 0;

    bool operator<(const Possible& other) const { return from_ns < other.from_ns; }
  };

  struct Waits {
    Intervals best;
    Intervals least;
    std::vector<Possible> most;
  };

  static std::int64_t most_ns(std::vector<Possible>& waits);

  std::vector<Waits> ranks_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OVERLAP_OVERLAP_H
