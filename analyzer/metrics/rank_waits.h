// SPDX-License-Identifier: Apache-2.0
//
// What was surely waited for each rank in each operation. It is kept from one reading of the
// operations, so that the iterations need not find it once more.
#ifndef RINGSIDE_ANALYZER_METRICS_RANK_WAITS_H
#define RINGSIDE_ANALYZER_METRICS_RANK_WAITS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"

namespace ringside::metrics {

/// The others' waits for one rank in one operation.
struct ChargedWait {
  std::uint32_t rank = 0;  // as in GlobalRanks
  std::int64_t waited_ns = 0;
  std::int64_t margin_ns = 0;  // the one waited so long that waited the least
};

/// Each rank's waiting is charged to the rank for which it surely waited. Collectives of a group
/// run as one kernel, so only the first of them has waits.
class RankWaits {
 public:
  /// `who` must outlive it.
  RankWaits(const facts::Facts& facts, const GlobalRanks& who);

  /// As facts::Fold.
  void add(std::size_t thread, const facts::SeenOperation& seen);

  /// Nothing of an operation whose times do not tell who waited.
  std::optional<std::span<const ChargedWait>> of(std::uint32_t operation) const;

 private:
  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

  // The waits of an operation among those of a thread.
  struct Place {
    std::uint32_t thread = 0;
    std::uint32_t count = kUnknown;
    std::size_t first = 0;
  };

  struct OfThread {
    std::vector<ChargedWait> waits;
    std::vector<std::uint32_t> place_of_row;  // in the waits, of one operation
  };

  const match::Matches& matches_;
  const GlobalRanks& who_;
  std::vector<Place> places_;      // by operation
  std::vector<bool> is_in_other_;  // likewise: it is in the kernel of an earlier one
  std::vector<OfThread> of_thread_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_RANK_WAITS_H
