// SPDX-License-Identifier: Apache-2.0
//
// Divides the time of each rank: every moment from its first call to its last end counts in one of
// four shares. docs/metrics.md defines them.
#ifndef RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H
#define RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"

namespace ringside::metrics {

/// The shares of one rank, which sum up to span_ns. If several hold at one moment, the first
/// counts.
struct RankShares {
  std::string label;
  std::string host;
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // of them, those whose execution is not known: in no share
  std::uint64_t undivided = 0;      // whose waiting is open by more than half of their time
  std::int64_t span_ns = 0;         // from the first call to the last end
  std::int64_t transfer_ns = 0;     // an operation ran, and it may have had all that it needs
  std::int64_t waiting_ns = 0;      // an operation ran, and surely waited for another rank
  std::int64_t open_ns = 0;         // of transfer_ns, so much may be waiting at most
  std::int64_t enqueued_ns = 0;     // called, and not begun
  std::int64_t outside_ns = 0;      // nothing was called

  /// False if the waiting is not known: waiting_ns is 0 then, and says nothing.
  bool knows_waiting() const { return undivided == 0 || waiting_ns > 0; }
};

/// Finds the shares of each rank of the job.
class TimeShares {
 public:
  explicit TimeShares(const facts::Facts& facts);

  /// As facts::Fold.
  void add(std::size_t thread, const facts::SeenOperation& seen);

  /// Returns those of the ranks that have operations, by number. To be called once.
  std::vector<RankShares> finish();

 private:
  // The moments of a rank in one operation.
  struct Stay {
    std::int64_t call_ns = 0;
    std::int64_t arrival_ns = 0;
    std::int64_t complete_ns = 0;  // surely nobody was waited for after that
    std::int64_t end_ns = 0;
  };
  // These members of RankShares, and the stays.
  struct OfRank {
    std::uint64_t operations = 0;
    std::uint64_t without_times = 0;
    std::uint64_t undivided = 0;
    std::int64_t open_ns = 0;
    std::vector<Stay> stays;
  };

  const facts::Facts& facts_;
  const GlobalRanks who_;
  std::vector<std::vector<OfRank>> of_thread_;  // each by rank, as in GlobalRanks
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_TIME_SHARES_H
