// SPDX-License-Identifier: Apache-2.0
//
// Who slows a job, and by how much: the ranks that wait least are the ones that the others wait
// for, and a replay in which they are like the others says what they cost.
#ifndef RINGSIDE_ANALYZER_REPLAY_SLOW_RANKS_H
#define RINGSIDE_ANALYZER_REPLAY_SLOW_RANKS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/replay/what_if.h"

namespace ringside::replay {

/// A cost, as a part of the wall time: the best estimate, and the range that the errors of the
/// replay leave.
struct Cost {
  double best = 0;
  double least = 0;
  double most = 0;
};

enum class Group : std::uint8_t { kRank, kHost, kRole };

/// Ranks that would save time together, if they were like the others.
struct Slow {
  Group group = Group::kRank;
  std::vector<std::uint32_t> ranks;  // indices into Job::ranks
  Cost cost;
  std::uint32_t iterations = 0;       // of the rank
  std::uint32_t slow_iterations = 0;  // of them, those in which it costs something
  std::uint32_t first_slow = 0;       // the first of these, counted from 0
};

/// Less is not worth a name.
inline constexpr double kLeastCost = 0.02;

/// The rank, host or role that costs most; nothing if nobody costs kLeastCost.
std::optional<Slow> find_slow(const Job& job, WhatIf& what_if);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_SLOW_RANKS_H
