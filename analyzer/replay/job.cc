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

}  // namespace ringside::replay
