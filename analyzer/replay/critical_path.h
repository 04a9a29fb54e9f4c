// SPDX-License-Identifier: Apache-2.0
//
// What the end of a run waited for: the chain of maxima of its replay, from the last end back to
// the begin.
#ifndef RINGSIDE_ANALYZER_REPLAY_CRITICAL_PATH_H
#define RINGSIDE_ANALYZER_REPLAY_CRITICAL_PATH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/replay/run_replay.h"

namespace ringside::replay {

/// What a part of the path was spent on.
enum class Spent : std::uint8_t {
  kTransfer,    // all ranks were there that are needed, and the data moved
  kBeforeCall,  // own time of a rank before its CPU had called the operation
  kAfterCall,   // own time after that: the GPU did other work, or the launch took long
};
inline constexpr std::size_t kSpentKinds = 3;

struct PathPart {
  Spent spent = Spent::kTransfer;
  std::uint32_t kernel = 0;  // index into Job::kernels: of the rank whose time it was
  std::uint32_t rank = 0;    // index into Job::ranks
  std::int64_t time_ns = 0;
};

struct CriticalPath {
  std::vector<PathPart> parts;  // from the first to the last
  std::int64_t length_ns = 0;
  std::array<std::int64_t, kSpentKinds> spent_ns{};
  std::vector<std::array<std::int64_t, kSpentKinds>> of_rank_ns;  // by rank
};

/// Runs the replay of the job as it was once more. Empty if there is no replay.
CriticalPath find_critical_path(RunReplay& run);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_CRITICAL_PATH_H
