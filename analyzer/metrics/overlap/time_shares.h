// SPDX-License-Identifier: Apache-2.0
//
// Divides the time of each rank: every moment from its first call to its last end counts in one of
// four shares. docs/metrics.md defines them.
#ifndef RINGSIDE_ANALYZER_METRICS_OVERLAP_TIME_SHARES_H
#define RINGSIDE_ANALYZER_METRICS_OVERLAP_TIME_SHARES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/model/packed_table.h"

namespace ringside::metrics {

/// The shares of one rank, which sum up to span_ns. If several hold at one moment, the first
/// counts.
struct RankShares {
  std::uint32_t rank = 0;  // as in GlobalRanks
  std::string label;
  std::string host;
  std::uint32_t file = 0;  // index into Traces::files
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // of them, those whose execution is not known: in no share
  std::int64_t span_ns = 0;         // from the first call to the last end
  std::int64_t transfer_ns = 0;     // an operation ran, and had all that it needs
  std::int64_t waiting_ns = 0;      // an operation ran, and waited for another rank
  std::int64_t enqueued_ns = 0;     // called, and not begun
  std::int64_t outside_ns = 0;      // nothing was called

  /// Moves from transfer to waiting what the rank waited.
  void set_waiting(std::int64_t waited_ns);
};

/// The shares of the ranks that have operations, by number, and the first call of all.
struct FoundShares {
  static constexpr std::int64_t kNever_ns = std::numeric_limits<std::int64_t>::max();

  std::vector<RankShares> ranks;
  std::int64_t first_call_ns = kNever_ns;  // epoch, common clock
};

/// Finds the shares of each rank of the job.
class TimeShares {
 public:
  explicit TimeShares(const facts::Facts& facts);

  /// As facts::Fold.
  void add(std::size_t thread, const facts::SeenOperation& seen);

  /// To be called once. The ranks' waits are in their transfer.
  FoundShares finish();

 private:
  // Groups of ranks are looked at one after the other, which takes less memory.
  static constexpr std::size_t kParts = 32;

  // These members of RankShares.
  struct Counts {
    std::uint64_t operations = 0;
    std::uint64_t without_times = 0;
  };
  // The columns are the rank, its call, its arrival, and its end.
  using Table = model::PackedTable<std::array<std::size_t, 4>{0, 1, 1, 2}>;
  struct OfThread {
    std::vector<Counts> counts;  // by rank, as in GlobalRanks
    std::array<Table, kParts> tables;
    std::int64_t first_call_ns = FoundShares::kNever_ns;
  };

  void add_stays(const facts::SeenOperation& seen, OfThread& own) const;
  void finish_part(std::size_t part, std::vector<RankShares>& ranks);

  const facts::Facts& facts_;
  const GlobalRanks who_;
  std::vector<OfThread> of_thread_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OVERLAP_TIME_SHARES_H
