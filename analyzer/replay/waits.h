// SPDX-License-Identifier: Apache-2.0
//
// For whom ranks waited, by iteration or by time. Of the kernels of a transfer the one that waited
// least came last, so no two clocks are compared.
#ifndef RINGSIDE_ANALYZER_REPLAY_WAITS_H
#define RINGSIDE_ANALYZER_REPLAY_WAITS_H

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/replay/job.h"

namespace ringside::replay {

/// What others waited for one rank in one transfer.
struct WaitedFor {
  std::uint32_t rank = 0;    // index into Job::ranks
  std::uint32_t column = 0;  // of the kernels
  std::int64_t waited_ns = 0;
  std::int64_t longest_ns = 0;  // of one rank
};

/// Calls visit() for each transfer in which ranks waited for one. `columns`: by kernel; kNone: its
/// waits are left out, as those of each rank's first kernel are. A kernel waits for the one that
/// waited least of all in its transfers. What that one's rank has waited more than its own before,
/// in the same column, has been passed on, and does not count:
///
///   waited for m by k = wait(k) - max(0, waits before m - waits before k)
void for_each_waited_for(const Job& job, std::vector<std::uint32_t> columns,
                         const std::function<void(const WaitedFor&)>& visit);

/// The iteration of each kernel; kNone of those in none.
std::vector<std::uint32_t> iterations_of(const Job& job, const metrics::RunIterations& run);

/// Fills in what the iterations of the job's run say of waiting, and returns them; NULL if none of
/// `runs` is the job's. `names_ranks`: the rank that the others waited for longest is named, if
/// they waited kLeastCost of the median iteration.
metrics::RunIterations* add_waits(const Job& job, bool names_ranks,
                                  std::vector<metrics::RunIterations>& runs);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_WAITS_H
