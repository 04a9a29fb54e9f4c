// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/job.h"

#include <algorithm>

namespace ringside::replay {

std::int64_t Job::waited_ns(std::uint32_t kernel) const {
  std::int64_t longest_ns = 0;
  for (const std::uint32_t transfer : transfers_of(kernel)) {
    longest_ns = std::max(longest_ns, transfers[transfer].time_ns);
  }
  return std::max<std::int64_t>(kernels[kernel].wall_ns() - longest_ns, 0);
}

std::int64_t Job::wall_ns() const {
  std::int64_t longest_ns = 0;
  for (const JobRank& rank : ranks) {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (const Kernel& kernel : kernels_of(rank)) {
      last_ns = std::max(last_ns, kernel.end_ns);
    }
    const Kernel& first = kernels[rank.first_kernel];
    longest_ns = std::max(longest_ns, last_ns - first.start_ns - waited_ns(rank.first_kernel));
  }
  return longest_ns;
}

}  // namespace ringside::replay
