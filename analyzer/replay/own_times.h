// SPDX-License-Identifier: Apache-2.0
//
// The own time of a rank before each of its kernels: computing, launching, input, whatever it is.
// It begins at an anchor, an earlier moment of the same rank: the end of a kernel that computing
// waited for, or the moment at which the rank was ready for a kernel beside which it went on.
#ifndef RINGSIDE_ANALYZER_REPLAY_OWN_TIMES_H
#define RINGSIDE_ANALYZER_REPLAY_OWN_TIMES_H

#include <cstdint>
#include <vector>

#include "analyzer/replay/job.h"
#include "analyzer/replay/places.h"

namespace ringside::replay {

/// An earlier kernel of the same rank.
struct Anchor {
  std::uint32_t kernel = kNone;  // kNone: the rank's first one has none
  bool is_end = true;            // its end; else the moment at which the rank was ready for it
};

/// By kernel.
struct OwnTimes {
  std::vector<Anchor> anchors;
  std::vector<std::int64_t> own_ns;  // not below 0
  /// The stream was free when the rank was ready. Else the time is an estimate: the GPU may have
  /// been ready long before the kernel could start.
  std::vector<bool> is_seen;
};

OwnTimes find_own_times(const Job& job, const Places& places);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_OWN_TIMES_H
